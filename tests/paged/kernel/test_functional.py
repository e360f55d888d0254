"""Linear layers, norms and activations: torch's where the host backend cannot serve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from paged.errors import BackendUnavailable
from paged.kernel import functional
from paged.kernel.functional import add_rms_norm, embedding, linear, rms_norm, silu_mul
from paged.kernel.linear_weight import LinearWeight
from tests.helpers.host_levels import randn


@pytest.fixture(params=["host", "torch"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run with the host backend, and as on a machine without it."""
    if request.param == "torch":
        monkeypatch.setattr(functional, "find_layers", lambda _config: None)  # type: ignore[misc]
    return request.param


def test_linear_adds_its_bias() -> None:
    x, weight, bias = randn(3, 20), randn(7, 20), randn(7)
    got = linear(x, LinearWeight.plain(weight, bias))
    expected = x.double() @ weight.double().T + bias.double()
    torch.testing.assert_close(got.double(), expected, rtol=1e-5, atol=1e-5)


def test_an_embedding_is_rows_of_the_weight() -> None:
    weight = randn(9, 4)
    got = embedding(torch.tensor([8, 0, 8]), LinearWeight.plain(weight), torch.float32)
    assert torch.equal(got, weight[[8, 0, 8]])


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("shape", [(3, 20), (3, 4, 20)])
def test_rms_norm_divides_by_the_root_of_the_mean_square(shape: tuple[int, ...]) -> None:
    x, weight = randn(*shape), randn(20)
    exact = x.double()
    expected = exact / (exact.square().mean(-1, keepdim=True) + 1e-5).sqrt() * weight.double()
    torch.testing.assert_close(rms_norm(x, weight, 1e-5).double(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.usefixtures("backend")
def test_add_rms_norm_returns_the_sum_as_well() -> None:
    x, residual, weight = randn(3, 20), randn(3, 20) * 2, randn(20)
    normed, total = add_rms_norm(x, residual, weight, 1e-5)
    assert torch.equal(total, x + residual)
    assert torch.equal(normed, rms_norm(total, weight, 1e-5))


@pytest.mark.usefixtures("backend")
def test_silu_mul_takes_the_gates_first() -> None:
    gate_up = randn(3, 20)
    gate, up = gate_up.double().split(10, dim=-1)
    expected = gate * torch.sigmoid(gate) * up
    torch.testing.assert_close(silu_mul(gate_up).double(), expected, rtol=1e-5, atol=1e-6)


def test_activations_of_other_types_are_torchs() -> None:
    x = randn(3, 20).bfloat16()
    assert linear(x, LinearWeight.plain(randn(7, 20))).dtype == torch.bfloat16
    assert rms_norm(x, randn(20).bfloat16(), 1e-5).dtype == torch.bfloat16
    assert silu_mul(x).shape == (3, 10)
    meta = torch.empty(3, 20, device="meta")
    assert rms_norm(meta, torch.empty(20, device="meta"), 1e-5).shape == (3, 20)


def test_a_packed_weight_needs_the_host_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = LinearWeight.plain(randn(7, 20)).packed("bfloat16")
    monkeypatch.setattr(functional, "find_layers", lambda _config: None)  # type: ignore[misc]
    with pytest.raises(BackendUnavailable, match="use a plain weight"):
        linear(randn(3, 20), packed)


@pytest.mark.parametrize(
    "call",
    [
        linear,
        lambda x, w: embedding(torch.tensor([1, 2]), w, x.dtype),
        lambda x, _: rms_norm(x, x[0], 1e-5),
        lambda x, _: add_rms_norm(x, x, x[0], 1e-5)[0],
        lambda x, _: silu_mul(x),
    ],
    ids=["linear", "embedding", "rms_norm", "add_rms_norm", "silu_mul"],
)
def test_all_of_it_can_be_traced(call: Callable[..., Any]) -> None:
    x, packed = randn(3, 20), LinearWeight.plain(randn(7, 20), randn(7)).packed("int8")
    traced = torch.compile(call, backend="eager", fullgraph=True)
    # what is traced is torch's product, of x that is not rounded to 16 bits
    atol = 1e-3 if call is linear else 1e-5
    torch.testing.assert_close(traced(x, packed), call(x, packed), rtol=1e-5, atol=atol)
