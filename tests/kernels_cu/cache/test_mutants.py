"""Known-wrong kernels: one text of a kernel or header changed, and the matrix must notice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from tests.helpers.cache_calls import Call, fault, mutant_of, spec_of
from tests.kernels_cu.cache.test_block_copies import make_copy, make_swap
from tests.kernels_cu.cache.test_gather_kv import make_call as make_gather
from tests.kernels_cu.cache.test_rope_write_kv import assert_rounded_once
from tests.kernels_cu.cache.test_rope_write_kv import make_call as make_rope
from tests.kernels_cu.cache.test_write_kv import make_call as make_write

FP8 = torch.float8_e4m3fn


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A wrong kernel, and a call of the matrix that shows it."""

    op: str
    variant: str
    file: str
    old: str
    new: str
    make: Callable[[], Call]


def _write(variant: str, old: str, new: str, make: Callable[[], Call]) -> Mutant:
    file = f"write_kv_{variant}.cu"
    return Mutant(op="write_kv", variant=variant, file=file, old=old, new=new, make=make)


MUTANTS = {
    "the simple write leaves out the scale": _write(
        "simple",
        "quantize<KV_T>(row[d], scale)",
        "quantize<KV_T>(row[d], paged::kNoScale)",
        lambda: make_write(torch.bfloat16, FP8, has_scales=True),
    ),
    "the simple write takes keys for values": _write(
        "simple", "write(p.value + ", "write(p.key + ", make_write
    ),
    "the simple write puts -1 into the last slot": _write(
        "simple", "if (index < 0 || index >=", "if (index >=", make_write
    ),
    "the vector write assumes contiguous keys": _write(
        "vector", "token * p.key_stride[0]", "token * p.num_kv_heads * p.head_dim", make_write
    ),
    "the vector write forgets the end of a row": _write(
        "vector",
        "const int count = p.head_dim - d;",
        "const int count = 8;",
        lambda: make_write(head_dim=46),
    ),
    "vectors are loaded from any address": Mutant(
        op="write_kv",
        variant="vector",
        file="chunk.cuh",
        old="if (count >= N && is_aligned_for<Vector>(from))",
        new="if (count >= N)",
        make=lambda: make_write(head_dim=46),
    ),
    "scales multiply on the way in": Mutant(
        op="write_kv",
        variant="vector",
        file="stored.cuh",
        old="static_cast<float>(x) / scale.value",
        new="static_cast<float>(x) * (1.0f / scale.value)",
        make=lambda: make_write(torch.float32, torch.float32, has_scales=True),
    ),
    "the stride of blocks is derived": Mutant(
        op="write_kv",
        variant="vector",
        file="kv_pool.cuh",
        old="slot.block * stride[kBlockAxis]",
        new="slot.block * (2 * kNumHalves * stride[kHalfAxis])",
        make=lambda: make_write(layout="interleaved"),
    ),
    "the simple rotation turns the wrong way": Mutant(
        op="rope_write_kv",
        variant="simple",
        file="rotary.cuh",
        old="is_first ? -__fmul_rn(other, sin) : __fmul_rn(other, sin)",
        new="is_first ? __fmul_rn(other, sin) : -__fmul_rn(other, sin)",
        make=make_rope,
    ),
    "keys are rounded before they are quantised": Mutant(
        op="rope_write_kv",
        variant="vector",
        file="rope_write_kv_vector.cu",
        old="write(paged::rotated_chunk<kChunk>(key, d, count, turn), paged::kKeys);",
        new="write(paged::quantize<KEY_T>(paged::rotated_chunk<kChunk>(key, d, count, turn),\n"
        "                                paged::kNoScale), paged::kKeys);",
        make=lambda: make_rope(torch.float16, FP8, num_tokens=23),
    ),
    "the vector rotation pairs neighbours by the wrong angle": Mutant(
        op="rope_write_kv",
        variant="vector",
        file="rotary.cuh",
        old="cos.element[i / 2], sin.element[i / 2]",
        new="cos.element[i % (N / 2)], sin.element[i % (N / 2)]",
        make=lambda: make_rope(interleaved=True),
    ),
    "the simple copy swaps heads and slots": Mutant(
        op="copy_blocks",
        variant="simple",
        file="block_copy.cuh",
        old="plane % kNumHalves * block.stride[kHalfAxis]",
        new="plane % kNumHalves * block.stride[kLayerAxis]",
        make=lambda: make_copy([[0, 1]]),
    ),
    "the vector copy takes spaced rows for contiguous ones": Mutant(
        op="copy_blocks",
        variant="vector",
        file="block_copy.cuh",
        old="return block.stride[kSlotAxis] == shape.head_dim &&",
        new="return true ||",
        make=lambda: make_copy([[0, 1]], layout="odd_pitch"),
    ),
    "the vector copy leaves out the last part": Mutant(
        op="copy_blocks",
        variant="vector",
        file="copy_blocks_vector.cu",
        old="blockIdx.x % p.num_parts, p.num_parts)",
        new="blockIdx.x % p.num_parts, p.num_parts + 1)",
        make=lambda: make_copy([[0, 3]], num_layers=5, block_size=16, head_dim=64),
    ),
    "the simple swap reads with the other pool's strides": Mutant(
        op="swap_blocks",
        variant="simple",
        file="swap_blocks_simple.cu",
        old="p.source, p.source_stride",
        new="p.source, p.destination_stride",
        make=lambda: make_swap([[1, 2]], layouts=("layers", "blocks")),
    ),
    "the vector swap bounds blocks by the other pool": Mutant(
        op="swap_blocks",
        variant="vector",
        file="swap_blocks_vector.cu",
        old="pair[1], p.num_destination_blocks",
        new="pair[1], p.num_source_blocks",
        make=lambda: make_swap([[1, 8]]),
    ),
    "the simple gather starts a sequence a row late": Mutant(
        op="gather_kv",
        variant="simple",
        file="gather.cuh",
        old="if (start[middle] <= row)",
        new="if (start[middle] < row)",
        make=make_gather,
    ),
    "the vector gather gives values the scale of keys": Mutant(
        op="gather_kv",
        variant="vector",
        file="gather_kv_vector.cu",
        old="write(p.value, values, paged::kValues)",
        new="write(p.value, values, paged::kKeys)",
        make=lambda: make_gather(torch.bfloat16, FP8, has_scales=True),
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_the_matrix_notices(name: str, tmp_path: Path) -> None:
    mutant = MUTANTS[name]
    spec = spec_of(mutant.op, mutant.variant)
    wrong = mutant_of(spec, tmp_path, mutant.file, mutant.old, mutant.new)
    call = mutant.make()
    if mutant.op == "rope_write_kv":
        with pytest.raises(AssertionError):
            assert_rounded_once(call, call.run(wrong))
    else:
        assert fault(call, wrong) is not None
