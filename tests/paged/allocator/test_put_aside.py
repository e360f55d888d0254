"""Blocks of ended sequences wait to be given up, and nobody who looks at the pool sees that."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from paged.allocator.block_pool import BlockPool
from tests.helpers.prefix_caches import NUM_BLOCKS, blocks_of, insert, small_cache, tokens_of


@pytest.fixture
def pool() -> BlockPool:
    """Blocks 0 and 1 are cached, 0 to 3 are held; 0 and 2 are then dropped together."""
    cache = small_cache()
    pool = BlockPool(NUM_BLOCKS, cache)
    pool.take(4)
    insert(cache, tokens_of(1, 1), [0])
    insert(cache, tokens_of(2, 2), [1])
    pool.drop_all([blocks_of(2, 0)])
    return pool


Query = Callable[[BlockPool], object]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (lambda pool: pool.references[:5].tolist(), [0, 1, 0, 1, 0]),
        (lambda pool: pool.num_free, NUM_BLOCKS - 3),
        (lambda pool: pool.num_evictable, 1),
        (lambda pool: pool.num_available, NUM_BLOCKS - 2),
        (lambda pool: pool.num_held, 2),
        (lambda pool: pool.cached_blocks().tolist(), [0]),
        (lambda pool: pool.num_idle(blocks_of(0, 1)), 1),
        (lambda pool: pool.can_supply(NUM_BLOCKS - 2), True),
        (lambda pool: pool.can_supply(NUM_BLOCKS - 1), False),
    ],
)
def test_a_query_sees_them_given_up(pool: BlockPool, query: Query, expected: object) -> None:
    assert query(pool) == expected
    pool.check_integrity()


def test_integrity_is_that_of_the_pool_without_them(pool: BlockPool) -> None:
    pool.check_integrity()
    assert pool.num_held == 2


def test_they_are_handed_out_when_others_do_not_suffice(pool: BlockPool) -> None:
    assert sorted(pool.take(NUM_BLOCKS - 2).tolist()) == [0, 2, *range(4, NUM_BLOCKS)]
    pool.check_integrity()


def test_nothing_is_evicted_for_a_block_that_waits(pool: BlockPool) -> None:
    free = pool.take(NUM_BLOCKS - 3)
    pool.drop_all([blocks_of(2)])
    assert 2 in free
    assert pool.take(1).tolist() == [2]
    assert pool.cached_blocks().tolist() == [0]


def test_those_dropped_first_are_evicted_first(pool: BlockPool) -> None:
    pool.drop(blocks_of(1))
    assert pool.cached_blocks().tolist() == [0, 1]


def test_one_that_waits_can_be_held_again(pool: BlockPool) -> None:
    pool.reuse(blocks_of(0))
    assert (pool.references[0], pool.num_evictable) == (1, 0)
    pool.check_integrity()


def test_one_that_waits_can_be_discarded(pool: BlockPool) -> None:
    pool.discard(blocks_of(0))
    assert pool.num_evictable == 0
    pool.check_integrity()


def test_sequences_that_share_blocks_wait_together() -> None:
    pool = BlockPool(4)
    pool.take(2)
    pool.retain(blocks_of(0))
    pool.drop_all([blocks_of(0)])
    pool.drop_all([blocks_of(1, 0)])
    assert not np.any(pool.references)
    assert pool.num_free == 4
