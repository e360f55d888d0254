"""Taps see each operation once, with what it was given and what came out."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import torch

from paged.kernel import functional, op_call
from paged.kernel.functional import add_rms_norm, linear, silu_mul
from paged.kernel.linear_weight import LinearWeight
from paged.kernel.tap import watching


class Log:
    """A tap that keeps what it is shown."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[object, ...], Mapping[str, object], object]] = []

    def __call__(
        self,
        name: str,
        operands: tuple[object, ...],
        numbers: Mapping[str, object],
        result: object,
    ) -> None:
        self.calls.append((name, operands, numbers, result))

    @property
    def names(self) -> list[str]:
        """Operations in order."""
        return [call[0] for call in self.calls]


def test_an_operation_is_seen_with_all_that_belongs_to_it() -> None:
    x, weight, log = torch.ones(2, 4), LinearWeight.plain(torch.ones(3, 4)), Log()
    with watching(log):
        y = linear(x, weight)
    ((name, operands, numbers, result),) = log.calls
    assert name == "linear"
    assert operands[0] is x
    assert operands[1] is weight
    assert numbers == {}
    assert result is y


def test_a_kernel_is_seen_with_its_numbers() -> None:
    pool = torch.zeros(3, 1, 2, 1, 4, 8)
    pairs, log = torch.tensor([[0, 1]]), Log()
    rows = torch.ones(2, 1, 8)
    with watching(log):
        op_call("copy_blocks", pool, pairs)
        op_call("write_kv", rows, rows, pool, torch.tensor([0, 5]), layer=0)
    assert log.names == ["copy_blocks", "write_kv"]
    assert log.calls[0][1][1] is pairs
    assert log.calls[1][2] == {"layer": 0}


def test_nothing_is_seen_outside_the_block() -> None:
    inner, outer = Log(), Log()
    with watching(outer):
        silu_mul(torch.ones(1, 4))
        with watching(inner):
            silu_mul(torch.ones(1, 4))
    silu_mul(torch.ones(1, 4))
    assert (outer.names, inner.names) == (["silu_mul"], ["silu_mul"])


@pytest.mark.parametrize("has_host", [True, False])
def test_what_an_operation_is_made_of_is_not_seen(
    has_host: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_host:
        monkeypatch.setattr(functional, "find_layers", lambda _config: None)  # type: ignore[misc]
    log = Log()
    with watching(log):
        add_rms_norm(torch.ones(1, 4), torch.ones(1, 4), torch.ones(4), 1e-5)
    assert log.names == ["add_rms_norm"]


def test_what_torch_compiles_is_one_graph_and_not_seen() -> None:
    def call(x: torch.Tensor) -> torch.Tensor:
        return silu_mul(x) + 1

    compiled, log = torch.compile(call, backend="eager", fullgraph=True), Log()
    with watching(log):
        got = compiled(torch.ones(1, 4))
    assert torch.equal(got, call(torch.ones(1, 4)))
    assert log.names == []
