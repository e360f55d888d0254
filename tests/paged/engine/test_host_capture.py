"""Recorded work on a CPU: run again it computes what the work would, on what tensors hold then."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest
import torch

from paged.engine.host_capture import HostCapture
from paged.errors import OperandError
from paged.kernel import op_call, use_kernel
from paged.kernel.functional import add_rms_norm, embedding, linear, rms_norm, silu_mul
from paged.kernel.linear_weight import LinearWeight

pytestmark = pytest.mark.usefixtures("_inference")

GENERATOR = torch.Generator().manual_seed(3)
WEIGHT = LinearWeight.plain(torch.randn(48, 48, generator=GENERATOR)).packed("bfloat16")
GATE_UP = LinearWeight.plain(torch.randn(96, 48, generator=GENERATOR)).packed("bfloat16")
NORM = torch.rand(48, generator=GENERATOR)


@pytest.fixture
def _inference() -> object:
    with torch.inference_mode():
        yield


def layer(x: torch.Tensor) -> torch.Tensor:
    """Compute a bit of a model, in which memory of one result serves the next ones."""
    residual, hidden = x, rms_norm(x, NORM, 1e-5)
    for _ in range(3):
        hidden, residual = add_rms_norm(linear(hidden, WEIGHT), residual, NORM, 1e-5)
        hidden = silu_mul(linear(hidden, GATE_UP))
    return hidden


def with_torch(x: torch.Tensor) -> torch.Tensor:
    """Compute between kernels what a family of its own may."""
    query, key = linear(x, WEIGHT).view(-1, 6, 8).split_with_sizes((4, 2), dim=1)
    turned = torch.cat([key.contiguous(), query * 2], dim=1).flatten(1)
    top = torch.topk(turned, 5, dim=-1)
    turned[:, :5] = top.values
    return turned + top.indices.sum(dim=-1, keepdim=True)


def recorded(
    work: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, capture: HostCapture
) -> tuple[Callable[[], object], torch.Tensor]:
    result = torch.zeros_like(work(x))
    return capture(lambda: result.copy_(work(x))), result


@pytest.mark.parametrize("work", [layer, with_torch])
def test_it_computes_what_the_work_does_on_new_values(
    work: Callable[[torch.Tensor], torch.Tensor],
) -> None:
    x = torch.randn(5, 48, generator=GENERATOR)
    replay, result = recorded(work, x, HostCapture())
    assert torch.equal(result, work(x))
    for _ in range(3):
        x.copy_(torch.randn(5, 48, generator=GENERATOR))
        expected = work(x)
        result.zero_()
        replay()
        assert torch.equal(result, expected)


def test_recordings_of_one_capture_leave_each_other_be() -> None:
    capture = HostCapture()
    inputs = [torch.randn(rows, 48, generator=GENERATOR) for rows in (7, 1, 4)]
    pairs = [recorded(layer, x, capture) for x in inputs]
    for x, (replay, result) in [*zip(inputs, pairs, strict=True)] * 2:
        x.add_(1)
        replay()
        assert torch.equal(result, layer(x))


def test_host_kernels_in_a_row_are_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.randn(2, 48, generator=GENERATOR)
    replay, result = recorded(layer, x, HostCapture())
    expected = result.clone()
    result.zero_()
    monkeypatch.setattr("paged.kernel.backends.host_layers.HostLayers.linear", None)
    monkeypatch.setattr("torch.Tensor.copy_", None)
    replay()
    assert torch.equal(result, expected)


def test_tokens_that_are_no_rows_are_refused_when_it_is_run_again() -> None:
    tokens = torch.tensor([1, 2])
    result = torch.zeros(2, 48)
    replay = HostCapture()(lambda: result.copy_(embedding(tokens, WEIGHT, torch.float32)))
    tokens[1] = 48
    with pytest.raises(OperandError, match="below 48, got 1 that are not"):
        replay()


def test_work_that_looks_at_values_runs_as_it_is() -> None:
    x, calls = torch.ones(2, 48), []

    def work() -> None:
        calls.append(linear(x, WEIGHT).sum().item())

    replay = HostCapture()(work)
    x.fill_(2)
    replay()
    assert calls[1] == 2 * calls[0]


def test_sizes_that_follow_from_values_run_as_they_are() -> None:
    x, sizes = torch.ones(4), []

    def work() -> None:
        sizes.append(len(x.nonzero()))

    replay = HostCapture()(work)
    x[0] = 0
    replay()
    assert sizes == [4, 3]


@pytest.mark.parametrize("variant", ["reference", "simple"])
def test_kernels_that_are_not_the_hosts_run_as_they_are(variant: str) -> None:
    pool = torch.zeros(4, 1, 2, 2, 16, 64)
    pairs = torch.tensor([[0, 1]])
    with use_kernel(copy_blocks=variant):
        replay = HostCapture()(lambda: op_call("copy_blocks", pool, pairs))
        pool[0] = 7
        replay()
    assert pool[1].unique().tolist() == [7]


def test_a_recording_does_not_import_the_compiler() -> None:
    script = (
        "import sys, torch; from paged.engine.host_capture import HostCapture;"
        "x = torch.ones(3); replay = HostCapture()(lambda: x.add_(1)); replay();"
        "assert x[0] == 3; assert 'torch._dynamo' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
