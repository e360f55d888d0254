"""Calls whose operands' memory cannot serve them are refused, and nothing is written."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from paged.errors import OperandError
from paged.kernel import kernel_call, memory, op_call
from paged.kernel.binding import bind
from paged.kernel.memory import check_memory, check_writable, num_spanned, spanned_bytes
from paged.kernel.spec import KernelSpec, Launch, Operand
from tests.helpers.copying import copy_spec

SPEC = copy_spec()
WIDE = KernelSpec(
    name="wide",
    source="",
    launches=(Launch(entry="wide", grid=1, block=1),),
    operands=(
        Operand(name="x", shape="rows heads dim", dtype="float32", strided=True),
        Operand(name="y", shape="rows more dim", dtype="float32", strided=True, intent="inout"),
    ),
)


def released() -> torch.Tensor:
    tensor = torch.zeros(8)
    tensor.untyped_storage().resize_(0)
    return tensor


def shortened() -> torch.Tensor:
    tensor = torch.zeros(8)
    tensor.untyped_storage().resize_(28)
    return tensor


def fake() -> torch.Tensor:
    with FakeTensorMode():
        return torch.zeros(8)


class Wrapper(torch.Tensor):
    """A subclass that has a shape and no storage."""

    @staticmethod
    def __new__(cls, size: int) -> Wrapper:
        return torch.Tensor._make_wrapper_subclass(cls, (size,), dtype=torch.float32)

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None):
        return NotImplemented


def read_only(folder: Path) -> torch.Tensor:
    file = folder / "values"
    np.arange(8, dtype=np.float32).tofile(file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.from_numpy(np.memmap(file, np.float32, "r"))


def faulty(x: torch.Tensor, y: torch.Tensor, spec: KernelSpec = SPEC) -> str:
    with pytest.raises(OperandError) as refused:
        check_memory(bind(spec, (x, y), {}))
    return str(refused.value)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (released, "needs a storage of 32 bytes, got 0; was it released"),
        (shortened, "needs a storage of 32 bytes, got 28"),
        (fake, "is fake, without memory"),
        (lambda: Wrapper(8), "is a Wrapper without memory of its own"),
    ],
)
def test_memory_that_is_missing(make: Callable[[], torch.Tensor], reason: str) -> None:
    assert f"operand 'x' {reason}" in faulty(make(), torch.zeros(8))
    assert f"operand 'y' {reason}" in faulty(torch.zeros(8), make())


def test_meta_tensors_have_none() -> None:
    meta = torch.zeros(8, device="meta")
    assert "operand 'x' is on meta" in faulty(meta, meta.clone())


@pytest.mark.parametrize(
    "y",
    [
        torch.zeros(1, 2, 4).expand(3, 2, 4),
        torch.zeros(3, 1, 4).expand(3, 2, 4),
        torch.zeros(24).as_strided((3, 2, 4), (4, 4, 1)),
    ],
    ids=["rows", "heads", "windows"],
)
def test_a_written_operand_has_a_place_for_each_element(y: torch.Tensor) -> None:
    assert "'y' is written, and must hold each element" in faulty(torch.zeros(3, 1, 4), y, WIDE)


def test_what_is_only_read_may_repeat() -> None:
    x = torch.zeros(1, 1, 4).expand(3, 2, 4)
    check_memory(bind(WIDE, (x, torch.zeros(3, 2, 4)), {}))


@pytest.mark.parametrize("begin", [0, 1, 7])
def test_a_written_operand_shares_nothing(begin: int) -> None:
    memory = torch.zeros(16)
    reason = "'y', which the kernel writes, shares memory with operand 'x'; pass a clone()"
    assert reason in faulty(memory[:8], memory[begin : begin + 8])


def test_neighbours_and_interleaved_views_share_nothing() -> None:
    memory = torch.zeros(16)
    check_memory(bind(SPEC, (memory[:8], memory[8:]), {}))
    packed = torch.zeros(3, 5, 4)
    check_memory(bind(WIDE, (packed[:, :2], packed[:, 2:]), {}))
    assert "shares memory" in faulty(packed[:, :3], packed[:, 2:], WIDE)


def test_read_only_memory_is_not_written(tmp_path: Path) -> None:
    mapped = read_only(tmp_path)
    check_writable(SPEC, (mapped, torch.zeros(8)))
    with pytest.raises(OperandError, match="'y' is written, and lies in read-only memory"):
        check_writable(SPEC, (torch.zeros(8), mapped))
    writable = np.memmap(tmp_path / "values", np.float32, "r+")
    check_writable(SPEC, (torch.zeros(8), torch.from_numpy(writable)))
    assert writable.tolist() == list(range(8))


def test_a_planned_call_is_as_careful(tmp_path: Path) -> None:
    x, y = torch.arange(8.0), torch.zeros(8)
    kernel_call(SPEC, x, y, interpret=True)
    assert torch.equal(y, x)
    mapped = read_only(tmp_path)
    memory = torch.arange(9.0)
    wrong: list[tuple[torch.Tensor, torch.Tensor, str]] = [
        (y, mapped, "read-only"),
        (released(), y, "released"),
        (fake(), y, "is fake"),
        (Wrapper(8), y, "without memory of its own"),
        (memory[:8], memory[1:], "shares memory"),
        (y.to_sparse(), y, "dense"),
        (y.to_mkldnn(), y, "dense"),
    ]
    for one, other, reason in wrong:
        with pytest.raises(OperandError, match=reason):
            kernel_call(SPEC, one, other, interpret=True)
    assert torch.equal(y, x)
    assert torch.equal(memory, torch.arange(9.0))
    assert torch.equal(mapped, x)


@pytest.mark.parametrize("device", ["meta", "fake"])
def test_operations_need_memory_too(device: str) -> None:
    pool = torch.zeros(2, 1, 2, 1, 8, 8)
    operands = [pool, torch.tensor([[0, 1]])]
    if device == "meta":
        operands = [t.to("meta") for t in operands]
    else:
        mode = FakeTensorMode()
        operands = [mode.from_tensor(t) for t in operands]
    with pytest.raises(OperandError, match=r"copy_blocks: operand 'kv_pool' is .* memory"):
        op_call("copy_blocks", *operands)


def test_vector_loads_need_aligned_operands() -> None:
    first, second = SPEC.operands
    spec = replace(SPEC, operands=(replace(first, alignment_bytes=16), second))
    memory, y = torch.arange(16.0), torch.zeros(8)
    assert memory.data_ptr() % 16 == 0
    kernel_call(spec, memory[4:12], y, interpret=True)
    assert torch.equal(y, memory[4:12])
    reason = "operand 'x' must begin at a multiple of 16 bytes, got an address 8 bytes past one"
    with pytest.raises(OperandError, match=reason):
        kernel_call(spec, memory[2:10], y, interpret=True)


def test_extents() -> None:
    assert num_spanned(torch.zeros(4, 3)) == 12
    assert num_spanned(torch.zeros(4, 3)[:, 1]) == 10
    assert num_spanned(torch.zeros(0, 3)) == 0
    assert num_spanned(torch.zeros(())) == 1
    assert spanned_bytes(torch.zeros(4, 3, dtype=torch.float16)[1:, 0]) == 14


def test_the_system_is_asked_once_for_a_storage(monkeypatch: pytest.MonkeyPatch) -> None:
    y = torch.zeros(8)
    check_writable(SPEC, (torch.zeros(8), y))
    monkeypatch.setattr(memory, "_are_writable", lambda *_: False)
    check_writable(SPEC, (torch.zeros(8), y[:]))
    with pytest.raises(OperandError, match="read-only"):
        check_writable(SPEC, (torch.zeros(8), torch.zeros(8)))
