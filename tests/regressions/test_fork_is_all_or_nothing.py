"""transformers PR#46117: a fork crashed half-way when too few blocks were free."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from paged.allocator.base import Demand
from paged.allocator.paged import PagedAllocator
from paged.config import CacheConfig
from paged.errors import OutOfBlocks
from paged.scheduler.request import FinishReason


def test_the_first_write_after_a_fork_copies_all_tails_or_none() -> None:
    config = CacheConfig(num_blocks=4, block_size=4, max_model_len=32)
    allocator = PagedAllocator(config, max_rows=5)
    group = allocator.admit(Demand(num_tokens=6, max_tokens=32, num_sequences=4))
    other = allocator.admit(Demand(num_tokens=4, max_tokens=32))
    assert group is not None
    assert other is not None
    rows = np.concatenate([other.rows, group.rows])
    allocator.grow(rows[:2], np.array([4, 6]))
    allocator.fork(int(group.rows[0]), group.rows[1:], 6)
    # One block is free. The other row needs it, and so do three of the four tails.
    before = pickle.dumps(allocator)
    with pytest.raises(OutOfBlocks, match="needed 4 blocks, 1 available"):
        allocator.grow(rows, np.array([5, 7, 7, 7, 7]))
    assert pickle.dumps(allocator) == before


def test_a_group_that_cannot_part_waits_for_a_running_request(make_engine) -> None:
    engine = make_engine(num_blocks=10)
    engine.add("single", [1] * 15, num_new=6)
    engine.add("group", [2] * 10, num_new=4, num_sequences=4)
    engine.run()
    assert engine.finished["group", 0].num_preemptions > 0
    assert [len(engine.tokens("group", i)) for i in range(4)] == [14, 14, 14, 14]


def test_a_group_alone_gives_up_its_last_sequences_first(make_engine) -> None:
    engine = make_engine(num_blocks=4)
    engine.add("group", [2] * 10, num_new=4, num_sequences=4)
    finished = engine.run()
    # Two blocks hold the shared prompt: there is room for two tails, then for one.
    assert [len(engine.tokens("group", i)) for i in range(4)] == [14, 13, 11, 11]
    assert {sequence.reason for sequence in finished.values()} == {FinishReason.LENGTH}
