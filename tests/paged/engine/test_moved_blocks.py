"""Blocks that did not arrive as they were are found, with layer and slot."""

from __future__ import annotations

import pytest
import torch

from paged.engine.moved_blocks import WrongMove, wrong_move


def pool(dtype: torch.dtype = torch.float32) -> torch.Tensor:
    values = torch.randn(6, 3, 2, 2, 4, 8, generator=torch.Generator().manual_seed(1))
    return values.to(dtype)


PAIRS = torch.tensor([[0, 3], [1, 4], [0, 5]])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float8_e4m3fn], ids=str)
@pytest.mark.parametrize("is_swap", [False, True])
def test_a_block_that_arrived_is_found_right_and_a_changed_one_wrong(
    is_swap: bool, dtype: torch.dtype
) -> None:
    source = pool(dtype)
    destination = torch.zeros_like(source) if is_swap else source
    for before, after in PAIRS.tolist():
        destination[after] = source[before]
    assert wrong_move("op", source, destination, PAIRS) is None
    destination[4, 2, 1, 0, 3, 7] = 17.0
    assert wrong_move("op", source, destination, PAIRS) == WrongMove(
        op="op", source=1, destination=4, layer=2, offset=3
    )


def test_every_bit_counts() -> None:
    same = pool()
    same[0] = 0.0
    same[3] = -same[0]
    assert wrong_move("op", same, same, PAIRS[:1]) is not None
    same[3] = same[0] = torch.nan
    assert wrong_move("op", same, same, PAIRS[:1]) is None
