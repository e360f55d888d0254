"""Eviction queues: the order worked out by hand, and against plain records."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from paged.allocator.eviction import EVICTION_QUEUES, EvictionQueue, LfuQueue, LruQueue
from paged.config import EVICTIONS

NUM_BLOCKS = 6


def _array(*blocks: int) -> np.ndarray:
    return np.array(blocks, np.int64)


def test_every_configured_name_has_a_queue() -> None:
    assert tuple(EVICTION_QUEUES) == EVICTIONS


@pytest.mark.parametrize("make", [LruQueue, LfuQueue])
def test_blocks_leave_in_the_order_of_release(make: type[LruQueue] | type[LfuQueue]) -> None:
    queue = make(NUM_BLOCKS)
    queue.push(_array(4, 2))
    queue.push(_array(5))
    assert queue.in_order().tolist() == [4, 2, 5]
    assert queue.pop(2).tolist() == [4, 2]
    assert len(queue) == 1
    assert queue.pop(1).tolist() == [5]


@pytest.mark.parametrize("make", [LruQueue, LfuQueue])
def test_a_removed_block_is_passed_over(make: type[LruQueue] | type[LfuQueue]) -> None:
    queue = make(NUM_BLOCKS)
    queue.push(_array(0, 1, 2, 3))
    queue.remove(_array(0, 2))
    queue.push(_array(0))
    assert queue.in_order().tolist() == [1, 3, 0]
    assert queue.pop(3).tolist() == [1, 3, 0]


@pytest.mark.parametrize("make", [LruQueue, LfuQueue])
def test_a_look_at_the_order_changes_nothing(make: type[LruQueue] | type[LfuQueue]) -> None:
    queue = make(NUM_BLOCKS)
    queue.push(_array(3, 1))
    queue.remove(_array(3))
    before = pickle.dumps(queue)
    assert queue.in_order().tolist() == [1]
    assert pickle.dumps(queue) == before


@pytest.mark.parametrize("make", [LruQueue, LfuQueue])
def test_popping_nothing_takes_nothing(make: type[LruQueue] | type[LfuQueue]) -> None:
    queue = make(NUM_BLOCKS)
    assert queue.pop(0).tolist() == []
    assert len(queue) == 0


def test_lfu_evicts_what_was_used_least() -> None:
    queue = LfuQueue(NUM_BLOCKS)
    queue.start(_array(0, 1, 2))
    queue.touch(_array(0, 1))
    queue.touch(_array(0))
    queue.push(_array(0, 1, 2))
    assert queue.pop(3).tolist() == [2, 1, 0]


def test_lfu_forgets_uses_of_the_old_content() -> None:
    queue = LfuQueue(NUM_BLOCKS)
    queue.touch(_array(0))
    queue.start(_array(0))
    queue.push(_array(0, 1))
    assert queue.in_order().tolist() == [0, 1]


class QueueMachine(RuleBasedStateMachine):
    """Blocks go in and out; the record is a list of (uses, block) in order of release."""

    counts_uses = False

    def __init__(self) -> None:
        super().__init__()
        self.queue: EvictionQueue = (LfuQueue if self.counts_uses else LruQueue)(NUM_BLOCKS)
        self.uses = dict.fromkeys(range(NUM_BLOCKS), 0)
        self.queued: list[int] = []

    def _expected(self) -> list[int]:
        return sorted(self.queued, key=self.uses.__getitem__) if self.counts_uses else self.queued

    @rule(blocks=st.lists(st.integers(0, NUM_BLOCKS - 1), unique=True))
    def push(self, blocks: list[int]) -> None:
        new = [block for block in blocks if block not in self.queued]
        self.queue.push(_array(*new))
        self.queued += new
        self._compare()

    @rule(blocks=st.lists(st.integers(0, NUM_BLOCKS - 1), unique=True))
    def remove_and_use(self, blocks: list[int]) -> None:
        known = [block for block in blocks if block in self.queued]
        self.queue.remove(_array(*known))
        self.queue.touch(_array(*known))
        for block in known:
            self.queued.remove(block)
            self.uses[block] += 1
        self._compare()

    @rule(count=st.integers(0, NUM_BLOCKS))
    def pop_and_start(self, count: int) -> None:
        count = min(count, len(self.queued))
        expected = self._expected()[:count]
        taken = self.queue.pop(count)
        assert taken.tolist() == expected
        self.queue.start(taken)
        for block in expected:
            self.queued.remove(block)
            self.uses[block] = 0
        self._compare()

    def _compare(self) -> None:
        assert len(self.queue) == len(self.queued)
        assert self.queue.in_order().tolist() == self._expected()


class LfuMachine(QueueMachine):
    """The same with counted uses."""

    counts_uses = True


@pytest.mark.parametrize("machine", [QueueMachine, LfuMachine])
def test_random_use_agrees_with_a_plain_record(machine: type[QueueMachine]) -> None:
    run_state_machine_as_test(machine)
