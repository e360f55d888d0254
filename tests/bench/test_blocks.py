"""Each timed operation on blocks does what its name says, and nothing is lost."""

from __future__ import annotations

import pytest

from bench.blocks import OPERATIONS, BlockSide


@pytest.mark.parametrize("blocks_per_call", [1, 8])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_operations_verify_twice(operation: str, blocks_per_call: int) -> None:
    side = BlockSide(num_blocks=64, blocks_per_call=blocks_per_call, num_calls=4)
    side.verify(operation)
    side.verify(operation)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_rounds_can_follow_each_other(operation: str) -> None:
    side = BlockSide(num_blocks=64, blocks_per_call=4, num_calls=4)
    contestant = side.contestant(operation)
    assert contestant.work_per_round == 16
    for _ in range(5):
        contestant.run(contestant.prepare())
    side.check_clean()
