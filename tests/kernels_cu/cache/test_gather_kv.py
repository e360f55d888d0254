"""gather_kv: every variant equals the reference in every bit."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch

from paged.errors import OperandError
from paged.kernel.backends.interpret import InterpretConfig
from tests.helpers.cache_calls import KERNELS, VARIANTS, Call, fault, kernel_of, spec_of
from tests.helpers.kv_pools import ORDERS, PoolShape, make_pool, some_scales

FP8 = torch.float8_e4m3fn
ENDS = (0, 5, 5, 6, 14, 14)


def make_call(
    key_t: torch.dtype = torch.float16,
    kv_t: torch.dtype = torch.float16,
    *,
    ends: tuple[int, ...] = ENDS,
    num_tokens: int = 14,
    max_blocks: int = 3,
    layout: str = "blocks",
    has_scales: bool = False,
    **sizes: int,
) -> Call:
    source = torch.Generator().manual_seed(5)
    shape = PoolShape(**sizes)
    tables = torch.randint(0, shape.num_blocks, (len(ends) - 1, max_blocks), generator=source)
    for row, (begin, end) in enumerate(pairwise(ends)):
        tables[row, -(-(end - begin) // shape.block_size) :] = 2_147_480_000
    operands = (
        make_pool(shape, kv_t, source, layout),
        tables.to(torch.int32),
        torch.tensor(ends, dtype=torch.int32),
        torch.empty(0, dtype=key_t),
        some_scales(shape, source) if has_scales else None,
    )
    return Call(op="gather_kv", operands=operands, numbers={"layer": 1, "num_tokens": num_tokens})


@pytest.mark.parametrize("variant", KERNELS)
@pytest.mark.parametrize("layout", ORDERS)
@pytest.mark.parametrize("head_dim", [16, 46])
def test_layouts(variant: str, layout: str, head_dim: int) -> None:
    call = make_call(layout=layout, head_dim=head_dim)
    assert fault(call, kernel_of("gather_kv", variant)) is None


@pytest.mark.parametrize("variant", KERNELS)
@pytest.mark.parametrize("has_scales", [False, True])
@pytest.mark.parametrize(("key_t", "kv_t"), [(torch.bfloat16, FP8), (torch.float32, torch.float16)])
def test_types_and_scales(
    variant: str, has_scales: bool, key_t: torch.dtype, kv_t: torch.dtype
) -> None:
    call = make_call(key_t, kv_t, has_scales=has_scales, head_dim=20)
    assert fault(call, kernel_of("gather_kv", variant)) is None


@pytest.mark.parametrize("variant", KERNELS)
@pytest.mark.parametrize(
    "sizes",
    [
        {"ends": (0,), "num_tokens": 0},
        {"ends": (0,), "num_tokens": 3},
        {"ends": (0, 0, 0), "num_tokens": 2},
        {"ends": (0, 1), "num_tokens": 1, "block_size": 1},
        {"ends": (0, 14, 14), "num_tokens": 9, "max_blocks": 4},
        {"ends": (0, 3, 9), "num_tokens": 20},
        {"ends": tuple(range(40)), "num_tokens": 39, "num_kv_heads": 1, "max_blocks": 1},
        {"ends": (0, 12), "num_tokens": 12, "head_dim": 80, "num_kv_heads": 1},
    ],
)
def test_ragged_batches_and_padding(variant: str, sizes: dict[str, int]) -> None:
    assert fault(make_call(**sizes), kernel_of("gather_kv", variant)) is None  # pyright: ignore


@pytest.mark.parametrize("variant", KERNELS)
def test_rows_without_a_block_are_zeros(variant: str) -> None:
    call = make_call(ends=(0, 6, 20), num_tokens=20)
    tables = call.operands[1]
    assert tables is not None
    tables[0, 1] = -1
    key, value = call.run(kernel_of("gather_kv", variant))
    for rows in (key, value):
        is_zero = (rows == 0).flatten(1).all(1)
        # a negative entry covers rows 4 and 5; a table of 3 blocks of 4 ends 12 rows after row 6
        assert is_zero.nonzero().flatten().tolist() == [4, 5, 18, 19]


@pytest.mark.parametrize("variant", VARIANTS)
def test_any_order_of_threads_gives_the_same_bits(variant: str) -> None:
    orders = InterpretConfig(seed=9, poison=0, guard="begin")
    assert fault(make_call(head_dim=46), spec_of("gather_kv", variant), orders) is None


def test_a_negative_number_of_rows_is_refused() -> None:
    with pytest.raises(OperandError, match="num_tokens >= 0"):
        make_call(num_tokens=-1).run(spec_of("gather_kv", "simple"))
