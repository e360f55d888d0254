"""Reports of wrong cache kernels elsewhere: one test each, on every variant it concerns.

Where our kernels could make the mistake of a report, it is put into one of them, and the same
check must then fail.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from paged.errors import KernelRunError
from paged.kernel.backends.interpret import InterpretConfig
from paged.kernel.call import kernel_call
from paged.kernel.copy_engine import CopyEngine, Runs
from paged.kernel.spec import KernelSpec
from tests.helpers.cache_calls import (
    KERNELS,
    VARIANTS,
    Call,
    difference,
    fault,
    kernel_of,
    mutant_of,
    spec_of,
)
from tests.helpers.kv_pools import (
    PoolShape,
    fused_rows,
    make_pool,
    some_scales,
    some_slots,
    sparse_tensor,
)

FP8 = torch.float8_e4m3fn
ROWS = torch.arange(1, 65).half().view(1, 1, 64)
# 2^32 elements, 8 GiB of addresses: offsets of the last block wrap to 0 in 32 bits, and its id
# in 16 bits. Written in place, for a copy for the interpreter's process would fill memory.
FAR = 2**24
FAR_SHAPE = (FAR + 1, 1, 2, 1, 2, 64)
IN_PLACE = InterpretConfig(isolate=False)


def far_pool() -> torch.Tensor:
    return sparse_tensor(FAR_SHAPE, torch.float16)


def write_far(spec: KernelSpec) -> bool:
    pool, slots = far_pool(), torch.tensor([2 * FAR + 1])
    kernel_call(spec, ROWS, -ROWS, pool, slots, None, interpret=IN_PLACE, layer=0)
    return arrived(pool[FAR, 0, :, 0, 1], pool[0])


def rope_write_far(spec: KernelSpec) -> bool:
    pool, slots, still = far_pool(), torch.tensor([2 * FAR + 1]), torch.tensor([[1.0, 0.0]])
    operands = (ROWS, ROWS, -ROWS, pool, slots, torch.tensor([0]), still, None)
    kernel_call(spec, *operands, interpret=IN_PLACE, layer=0)
    return arrived(pool[FAR, 0, :, 0, 1], pool[0])


def copy_far(spec: KernelSpec) -> bool:
    pool = far_pool()
    pool[3, 0, :, 0, 1] = torch.cat([ROWS[0], -ROWS[0]])
    kernel_call(spec, pool, torch.tensor([[3, FAR]]), interpret=IN_PLACE)
    return arrived(pool[FAR, 0, :, 0, 1], pool[0])


def swap_far(spec: KernelSpec) -> bool:
    source, pool = torch.zeros((2, *FAR_SHAPE[1:])).half(), far_pool()
    source[1, 0, :, 0, 1] = torch.cat([ROWS[0], -ROWS[0]])
    kernel_call(spec, source, pool, torch.tensor([[1, FAR]]), interpret=IN_PLACE)
    return arrived(pool[FAR, 0, :, 0, 1], pool[0])


def gather_far(spec: KernelSpec) -> bool:
    pool = far_pool()
    pool[FAR, 0, :, 0, 1] = torch.cat([ROWS[0], -ROWS[0]])
    tables = torch.tensor([[FAR]], dtype=torch.int32)
    starts = torch.tensor([0, 2], dtype=torch.int32)
    results = kernel_call(
        spec, pool, tables, starts, ROWS[0, 0, :0], None, interpret=True, layer=0, num_tokens=2
    )
    assert isinstance(results, tuple)
    return arrived(torch.stack(results)[:, 1, 0], torch.stack(results)[:, 0, 0])


def arrived(found: torch.Tensor, elsewhere: torch.Tensor) -> bool:
    return torch.equal(found, torch.cat([ROWS[0], -ROWS[0]])) and not elsewhere.any()


FAR_CHECKS: dict[str, Callable[[KernelSpec], bool]] = {
    "write_kv": write_far,
    "rope_write_kv": rope_write_far,
    "copy_blocks": copy_far,
    "swap_blocks": swap_far,
    "gather_kv": gather_far,
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("op", FAR_CHECKS)
def test_offsets_past_2_31_elements_and_block_ids_past_65535(op: str, variant: str) -> None:
    """vllm#50427: 32-bit offsets wrap; ROCm/ATOM#702: block ids were kept in 16 bits."""
    assert FAR_CHECKS[op](spec_of(op, variant))


@pytest.mark.parametrize(
    ("op", "file", "old", "new"),
    [
        ("write_kv", "kv_pool.cuh", "slot.block * stride[kBlockAxis]",
         "static_cast<int>(slot.block * stride[kBlockAxis])"),
        ("gather_kv", "kv_pool.cuh", "slot.block * stride[kBlockAxis]",
         "static_cast<unsigned short>(slot.block) * stride[kBlockAxis]"),
        ("copy_blocks", "block_copy.cuh", "id * stride[kBlockAxis]",
         "static_cast<int>(id * stride[kBlockAxis])"),
    ],
)  # fmt: skip
def test_narrow_offsets_are_noticed(op: str, file: str, old: str, new: str, tmp_path: Path) -> None:
    assert not FAR_CHECKS[op](mutant_of(spec_of(op, "vector"), tmp_path, file, old, new))


def written_from_far_tokens(spec: KernelSpec) -> bool:
    memory = sparse_tensor((4 * 2**30 + 8,), torch.float16)
    key = memory.as_strided((5, 1, 8), (2**30, 8, 1))
    key[:] = torch.arange(1, 41).half().view(5, 1, 8)
    pool = torch.zeros((3, 1, 2, 1, 2, 8)).half()
    kernel_call(spec, key, key, pool, torch.arange(5), None, interpret=True, layer=0)
    return torch.equal(pool[:, 0, 0, 0].flatten()[:40], key.flatten())


@pytest.mark.parametrize("variant", VARIANTS)
def test_tokens_2_30_elements_apart(variant: str, tmp_path: Path) -> None:
    """flash-attention#772: a batch stride of 2^30 elements updated the wrong row."""
    spec = spec_of("write_kv", variant)
    assert written_from_far_tokens(spec)
    old, new = "p.key + token * p.key_stride[0]", "p.key + static_cast<int>(token << 30)"
    wrong = mutant_of(spec, tmp_path, f"write_kv_{variant}.cu", old, new)
    # in 32 bits, tokens 2 and 3 lie before the operand
    with pytest.raises(KernelRunError):
        written_from_far_tokens(wrong)


def write_call(layout: str = "blocks", head_dim: int = 16, **of: Any) -> Call:
    source = torch.Generator().manual_seed(21)
    shape = PoolShape(head_dim=head_dim)
    _, key, value = fused_rows((9, shape.num_kv_heads, head_dim), torch.float16, source)
    pool = make_pool(shape, of.get("kv_t", torch.float16), source, layout)
    scales = some_scales(shape, source) if "kv_t" in of else None
    slots = some_slots(shape, 9, source)
    return Call(op="write_kv", operands=(key, value, pool, slots, scales), numbers={"layer": 1})


@pytest.mark.parametrize("variant", KERNELS)
@pytest.mark.parametrize("layout", ["interleaved", "gaps", "halves"])
def test_the_stride_of_blocks_is_taken_from_the_tensor(variant: str, layout: str) -> None:
    """ROCm/aiter#3498: it was computed as block_size * row, wrong where K and V interleave."""
    assert fault(write_call(layout), kernel_of("write_kv", variant)) is None


@pytest.mark.parametrize("variant", KERNELS)
@pytest.mark.parametrize("layout", ["blocks", "odd_pitch"])
def test_rows_whose_pitch_is_no_multiple_of_a_vector(variant: str, layout: str) -> None:
    """vllm#41257, #45466: 16-byte accesses faulted at head_dim 46."""
    assert fault(write_call(layout, head_dim=46), kernel_of("write_kv", variant)) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("if (count >= N && is_aligned_for<Vector>(from))", "if (count >= N)"),
        ("if (count >= N && is_aligned_for<Vector>(to))", "if (count >= N)"),
    ],
)
def test_vectors_at_any_address_are_noticed(old: str, new: str, tmp_path: Path) -> None:
    wrong = mutant_of(spec_of("write_kv", "vector"), tmp_path, "chunk.cuh", old, new)
    assert fault(write_call(head_dim=46), wrong) is not None


@pytest.mark.parametrize("variant", VARIANTS)
def test_scales_of_keys_and_values_are_used(variant: str) -> None:
    """flashinfer#1023, #4979: k_scale and v_scale were dropped on some paths."""
    call = write_call(kv_t=FP8)
    spec = spec_of("write_kv", variant)
    assert fault(call, spec) is None
    key, value, pool, slots, scales = call.operands
    assert scales is not None
    for half in (0, 1):
        others = scales.clone()
        others[1, half] *= 2
        changed = Call(op=call.op, operands=(key, value, pool, slots, others), numbers=call.numbers)
        assert difference(changed.run(spec), call.run(spec)) is not None


@pytest.mark.parametrize("variant", KERNELS)
def test_padding_has_no_slot_to_share(variant: str) -> None:
    """transformers#46765: padding read and wrote one slot, and its NaN spread."""
    call = write_call()
    key, value, pool, slots, _ = call.operands
    assert key is not None
    assert value is not None
    assert pool is not None
    assert slots is not None
    for rows in (key, value):
        rows[slots == -1] = torch.nan
    (written,) = call.run(kernel_of("write_kv", variant))
    assert not written.isnan().any()
    assert difference((written,), call.reference()) is None


class OrderRecorder:
    """A driver that notes in which order batches may read their sources."""

    def __init__(self) -> None:
        self.orders: list[int] = []

    def cuMemcpyBatchAsync(self, *arguments: Any) -> int:
        attributes = ctypes.cast(arguments[4], ctypes.POINTER(ctypes.c_int))
        self.orders.append(attributes[0])
        return 0


def test_a_swap_reads_its_blocks_in_the_order_of_the_stream() -> None:
    """vllm#39306: a batch that might read in any order saved rows before they were written."""
    driver = OrderRecorder()
    addresses = np.arange(2, dtype=np.uint64)
    CopyEngine(driver).copy(
        Runs(sources=addresses, destinations=addresses, sizes_bytes=addresses), stream=5
    )
    assert driver.orders == [1]
