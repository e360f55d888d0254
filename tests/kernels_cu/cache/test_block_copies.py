"""copy_blocks and swap_blocks: whole blocks arrive in every bit, and nothing else changes."""

from __future__ import annotations

import pytest
import torch

from paged.errors import OperandError
from paged.kernel.backends.interpret import InterpretConfig
from tests.helpers.cache_calls import KERNELS, VARIANTS, Call, bits, fault, kernel_of, spec_of
from tests.helpers.kv_pools import ORDERS, PoolShape, make_pool

FP8 = torch.float8_e4m3fn


def make_copy(
    pairs: list[list[int]], dtype: torch.dtype = torch.float16, layout: str = "blocks", **sizes: int
) -> Call:
    pool = make_pool(PoolShape(**sizes), dtype, torch.Generator().manual_seed(3), layout)
    return Call(op="copy_blocks", operands=(pool, _pairs(pairs)))


def make_swap(
    pairs: list[list[int]],
    dtype: torch.dtype = torch.float16,
    layouts: tuple[str, str] = ("blocks", "blocks"),
    **sizes: int,
) -> Call:
    source = torch.Generator().manual_seed(4)
    pool = make_pool(PoolShape(**{**sizes, "num_blocks": 5}), dtype, source, layouts[0])
    other = make_pool(PoolShape(**{**sizes, "num_blocks": 9}), dtype, source, layouts[1])
    return Call(op="swap_blocks", operands=(pool, other, _pairs(pairs)))


def _pairs(pairs: list[list[int]]) -> torch.Tensor:
    return torch.tensor(pairs, dtype=torch.int64).view(-1, 2)


@pytest.mark.parametrize("variant", KERNELS)
@pytest.mark.parametrize("layout", ORDERS)
@pytest.mark.parametrize("head_dim", [16, 46])
def test_copies_in_every_layout(variant: str, layout: str, head_dim: int) -> None:
    call = make_copy([[4, 0], [4, 5], [1, 2]], layout=layout, head_dim=head_dim)
    assert fault(call, kernel_of("copy_blocks", variant)) is None


@pytest.mark.parametrize("variant", KERNELS)
@pytest.mark.parametrize("dtype", [torch.float16, FP8])
@pytest.mark.parametrize(
    "sizes",
    [
        {"num_layers": 5, "num_kv_heads": 2, "block_size": 16, "head_dim": 64},
        {"num_layers": 1, "num_kv_heads": 1, "block_size": 1, "head_dim": 1},
        {"num_layers": 3, "num_kv_heads": 5, "block_size": 3, "head_dim": 7},
    ],
)
def test_copies_of_any_size(variant: str, dtype: torch.dtype, sizes: dict[str, int]) -> None:
    call = make_copy([[0, 3], [2, 1]], dtype, **sizes)  # pyright: ignore
    assert fault(call, kernel_of("copy_blocks", variant)) is None


@pytest.mark.parametrize("variant", KERNELS)
@pytest.mark.parametrize("pairs", [[], [[-1, 0], [0, -1], [6, 0], [0, 6], [2**40, 1], [1, 2**40]]])
def test_no_pairs_and_pairs_outside_of_the_pool_copy_nothing(
    variant: str, pairs: list[list[int]]
) -> None:
    call = make_copy(pairs)
    (written,) = call.run(kernel_of("copy_blocks", variant))
    pool = call.operands[0]
    assert pool is not None
    assert torch.equal(bits(written), bits(pool))


@pytest.mark.parametrize("variant", KERNELS)
def test_nan_and_every_byte_are_copied_as_they_are(variant: str) -> None:
    call = make_copy([[0, 1]], FP8, num_layers=1, num_kv_heads=2, block_size=4, head_dim=16)
    pool = call.operands[0]
    assert pool is not None
    pool[0] = torch.arange(256, dtype=torch.uint8).view(FP8).view(pool.shape[1:])
    (written,) = call.run(kernel_of("copy_blocks", variant))
    assert torch.equal(bits(written[1]), torch.arange(256, dtype=torch.uint8))


@pytest.mark.parametrize("variant", VARIANTS)
def test_any_order_of_threads_gives_the_same_bits(variant: str) -> None:
    call = make_copy([[4, 0], [1, 2]], num_layers=3, block_size=16, head_dim=64)
    orders = InterpretConfig(seed=2, poison=0, guard="begin")
    assert fault(call, spec_of("copy_blocks", variant), orders) is None


@pytest.mark.parametrize("variant", KERNELS)
@pytest.mark.parametrize(
    "layouts",
    [("blocks", "blocks"), ("layers", "blocks"), ("blocks", "tokens"), ("gaps", "odd_pitch")],
)
@pytest.mark.parametrize("head_dim", [16, 46])
def test_swaps_between_layouts(variant: str, layouts: tuple[str, str], head_dim: int) -> None:
    call = make_swap([[4, 8], [0, 0], [4, 3]], layouts=layouts, head_dim=head_dim)
    assert fault(call, kernel_of("swap_blocks", variant)) is None


@pytest.mark.parametrize("variant", KERNELS)
@pytest.mark.parametrize("pairs", [[], [[-1, 0], [0, -1], [5, 0], [0, 9]]])
def test_no_pairs_and_pairs_outside_of_a_pool_swap_nothing(
    variant: str, pairs: list[list[int]]
) -> None:
    call = make_swap(pairs)
    (written,) = call.run(kernel_of("swap_blocks", variant))
    destination = call.operands[1]
    assert destination is not None
    assert torch.equal(bits(written), bits(destination))


def test_pools_of_other_block_shapes_are_refused() -> None:
    call = make_swap([[0, 0]])
    pool, other, pairs = call.operands
    assert other is not None
    with pytest.raises(OperandError, match="num_layers"):
        Call(op="swap_blocks", operands=(pool, other[:, :1], pairs)).run(
            spec_of("swap_blocks", "vector")
        )
