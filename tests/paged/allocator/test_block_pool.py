"""The block pool: exact ids worked out by hand, and random use against a plain record."""

from __future__ import annotations

import pickle
from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from paged.allocator.block_pool import BlockPool
from paged.allocator.prefix_cache import ROOT_SERIAL, PrefixCache
from paged.errors import IntegrityError, OutOfBlocks

NUM_BLOCKS = 7


def _array(*blocks: int) -> np.ndarray:
    return np.array(blocks, np.int64)


def _cache() -> PrefixCache:
    return PrefixCache(num_blocks=NUM_BLOCKS, block_size=2, max_blocks_per_row=4)


def _insert(cache: PrefixCache, block: int, name: int) -> None:
    """Cache a block as the first of a prompt whose tokens are `name`."""
    content = np.array([[name, name]], np.int32)
    keys = cache.keys_of(content[0])
    assert cache.insert_new(keys, _array(block), content, _array(ROOT_SERIAL))


@pytest.fixture
def pool() -> BlockPool:
    return BlockPool(NUM_BLOCKS)


def test_a_fresh_pool_hands_out_the_lowest_ids(pool: BlockPool) -> None:
    assert pool.take(3).tolist() == [0, 1, 2]
    assert pool.take(0).tolist() == []
    assert pool.take(1).tolist() == [3]
    assert (pool.num_free, pool.num_evictable, pool.num_held) == (3, 0, 4)


def test_the_block_given_back_last_is_handed_out_first(pool: BlockPool) -> None:
    pool.take(5)
    pool.drop(_array(1, 3))
    pool.drop(_array(0))
    assert pool.take(3).tolist() == [0, 1, 3]


def test_too_many_blocks_are_refused_and_nothing_changes(pool: BlockPool) -> None:
    pool.take(5)
    before = pickle.dumps(pool)
    with pytest.raises(OutOfBlocks) as raised:
        pool.take(3)
    assert (raised.value.num_needed, raised.value.num_available) == (3, 2)
    assert pickle.dumps(pool) == before


def test_a_block_is_free_when_its_last_holder_drops_it(pool: BlockPool) -> None:
    blocks = pool.take(2)
    pool.retain(blocks, 2)
    pool.drop(blocks)
    pool.drop(blocks)
    assert (pool.num_held, pool.references[blocks].tolist()) == (2, [1, 1])
    pool.drop(blocks)
    assert pool.num_free == NUM_BLOCKS


def test_sequences_that_share_blocks_are_dropped_together(pool: BlockPool) -> None:
    shared, own, other = pool.take(1), pool.take(1), pool.take(1)
    pool.retain(shared)
    pool.drop_all([np.concatenate([own, shared]), np.concatenate([other, shared])])
    assert pool.num_free == NUM_BLOCKS
    pool.check_integrity()


def test_blocks_of_ended_sequences_are_handed_out_before_new_ones(pool: BlockPool) -> None:
    pool.drop_all([pool.take(3)])
    assert pool.take(2).tolist() == [0, 1]
    # What is missing is new, and nothing else.
    assert pool.take(3).tolist() == [2, 3, 4]
    pool.check_integrity()


def test_a_cached_block_stays_until_the_space_is_needed() -> None:
    cache = _cache()
    pool = BlockPool(NUM_BLOCKS, cache)
    blocks = pool.take(5)
    _insert(cache, 1, name=7)
    pool.drop(blocks)
    assert (pool.num_free, pool.num_evictable, pool.num_available) == (6, 1, 7)
    # Free blocks go first, and the cached one is hittable all the while.
    assert 1 not in pool.take(6).tolist()
    assert len(cache) == 1
    assert pool.take(1).tolist() == [1]
    assert len(cache) == 0


def test_a_cached_block_can_be_held_again() -> None:
    cache = _cache()
    pool = BlockPool(NUM_BLOCKS, cache)
    pool.drop(_taken_and_cached(pool, cache, 2))
    assert pool.num_idle(_array(0, 1)) == 2
    pool.reuse(_array(0))
    assert (pool.num_idle(_array(0, 1)), pool.num_evictable, pool.num_held) == (1, 1, 1)
    pool.check_integrity()


def test_the_least_recently_released_block_is_evicted_first() -> None:
    cache = _cache()
    pool = BlockPool(NUM_BLOCKS, cache)
    blocks = _taken_and_cached(pool, cache, NUM_BLOCKS)
    for block in (3, 6, 0, 1, 2, 4, 5):
        pool.drop(blocks[block : block + 1])
    assert pool.cached_blocks().tolist() == [3, 6, 0, 1, 2, 4, 5]
    assert pool.take(3).tolist() == [3, 6, 0]


def test_lfu_keeps_what_is_used_often() -> None:
    cache = _cache()
    pool = BlockPool(NUM_BLOCKS, cache, eviction="lfu")
    blocks = _taken_and_cached(pool, cache, NUM_BLOCKS)
    pool.reuse(_array(0, 2))
    pool.drop(_array(0, 2))
    pool.drop(blocks)
    assert pool.take(5).tolist() == [1, 3, 4, 5, 6]
    assert pool.take(2).tolist() == [0, 2]


def test_a_discarded_block_is_free_at_once() -> None:
    cache = _cache()
    pool = BlockPool(NUM_BLOCKS, cache)
    pool.drop(_taken_and_cached(pool, cache, 2))
    pool.discard(_array(1))
    assert (pool.num_evictable, pool.num_free, len(cache)) == (1, NUM_BLOCKS - 1, 1)
    pool.check_integrity()


def _taken_and_cached(pool: BlockPool, cache: PrefixCache, count: int) -> np.ndarray:
    blocks = pool.take(count)
    for block in blocks.tolist():
        _insert(cache, block, name=block)
    return blocks


def test_integrity_check_sees_a_block_dropped_once_too_often(pool: BlockPool) -> None:
    blocks = pool.take(1)
    pool.drop(blocks)
    pool.references[blocks] = 1
    with pytest.raises(IntegrityError, match="are not exactly the 7"):
        pool.check_integrity()


def test_integrity_check_sees_a_negative_count(pool: BlockPool) -> None:
    pool.references[6] = -1
    with pytest.raises(IntegrityError, match="negative reference count"):
        pool.check_integrity()


def test_integrity_check_sees_a_free_block_that_is_hittable() -> None:
    cache = _cache()
    pool = BlockPool(NUM_BLOCKS, cache)
    _insert(cache, 3, name=0)
    with pytest.raises(IntegrityError, match="still hittable"):
        pool.check_integrity()


def test_integrity_check_sees_an_evictable_block_that_is_not_cached() -> None:
    cache = _cache()
    pool = BlockPool(NUM_BLOCKS, cache)
    blocks = _taken_and_cached(pool, cache, 2)
    pool.drop(blocks)
    cache.forget(blocks)
    with pytest.raises(IntegrityError, match="not cached"):
        pool.check_integrity()


class PoolMachine(RuleBasedStateMachine):
    """The record: a stack of free ids, an ordered dict of evictable ones, counts of holders."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = _cache()
        self.pool = BlockPool(NUM_BLOCKS, self.cache)
        self.free = list(range(NUM_BLOCKS))
        self.evictable: OrderedDict[int, int] = OrderedDict()
        self.holders: dict[int, int] = {}
        self.cached: dict[int, int] = {}
        self.next_name = 0

    @rule(count=st.integers(0, NUM_BLOCKS))
    def take(self, count: int) -> None:
        num_available = len(self.free) + len(self.evictable)
        if count > num_available:
            with pytest.raises(OutOfBlocks, match=f"needed {count} blocks, {num_available} avail"):
                self.pool.take(count)
            return
        expected = [self.free.pop(0) for _ in range(min(count, len(self.free)))]
        while len(expected) < count:
            block, _ = self.evictable.popitem(last=False)
            del self.cached[block]
            expected.append(block)
        assert self.pool.take(count).tolist() == expected
        self.holders.update(dict.fromkeys(expected, 1))

    @rule(data=st.data(), count=st.integers(1, 3))
    def hold_again(self, data: st.DataObject, count: int) -> None:
        blocks = self._some(data, [*self.holders, *self.evictable])
        self.pool.reuse(_array(*blocks), count)
        for block in blocks:
            self.evictable.pop(block, None)
            self.holders[block] = self.holders.get(block, 0) + count

    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        blocks = self._some(data, list(self.holders))
        self.pool.drop(_array(*blocks))
        self._let_go(blocks)

    @rule(data=st.data(), num_sequences=st.integers(0, 3))
    def drop_all(self, data: st.DataObject, num_sequences: int) -> None:
        sequences: list[list[int]] = []
        for _ in range(num_sequences):
            taken = [block for blocks in sequences for block in blocks]
            left = [b for b, count in self.holders.items() if count > taken.count(b)]
            sequences.append(self._some(data, left))
        self.pool.drop_all([_array(*blocks) for blocks in sequences])
        # careful: which free block is on top depends on how sequences are joined.
        for blocks in sequences:
            self._let_go(blocks)
        self.free = sorted(self.free, key=self._free_order().index)

    @rule(data=st.data())
    def cache_some(self, data: st.DataObject) -> None:
        for block in self._some(data, [b for b in self.holders if b not in self.cached]):
            _insert(self.cache, block, self.next_name)
            self.cached[block] = self.next_name
            self.next_name += 1

    @rule(data=st.data())
    def discard(self, data: st.DataObject) -> None:
        blocks = self._some(data, list(self.evictable))
        self.pool.discard(_array(*blocks))
        for block in blocks:
            del self.evictable[block], self.cached[block]
        self.free = blocks + self.free

    def _some(self, data: st.DataObject, blocks: list[int]) -> list[int]:
        return data.draw(st.lists(st.sampled_from(blocks), unique=True)) if blocks else []

    def _let_go(self, blocks: list[int]) -> None:
        freed: list[int] = []
        for block in blocks:
            self.holders[block] -= 1
            if not self.holders[block]:
                del self.holders[block]
                if block in self.cached:
                    self.evictable[block] = self.cached[block]
                else:
                    freed.append(block)
        self.free = freed + self.free

    def _free_order(self) -> list[int]:
        copy: BlockPool = pickle.loads(pickle.dumps(self.pool))
        return copy.take(copy.num_free).tolist()

    @invariant()
    def pool_agrees_with_the_record(self) -> None:
        self.pool.check_integrity()
        assert self._free_order() == self.free
        counts = [self.holders.get(block, 0) for block in range(NUM_BLOCKS)]
        assert self.pool.references.tolist() == counts
        assert (self.pool.num_free, self.pool.num_evictable) == (
            len(self.free),
            len(self.evictable),
        )
        assert np.flatnonzero(self.cache.is_cached(np.arange(NUM_BLOCKS))).tolist() == sorted(
            self.cached
        )
        for block, name in self.cached.items():
            tokens = np.array([name, name], np.int32)
            assert self.cache.match(tokens, self.cache.keys_of(tokens)).tolist() == [block]


def test_random_use_agrees_with_a_plain_record() -> None:
    plan = settings.get_profile(settings.get_current_profile_name())
    run_state_machine_as_test(
        PoolMachine, settings=settings(plan, max_examples=plan.max_examples // 2)
    )
