"""Sequences whose first block nobody has asked for: other keys wait, and lead nowhere else."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from paged.allocator.prefix_cache import ROOT_SERIAL, PrefixCache
from paged.errors import IntegrityError
from tests.helpers.prefix_caches import (
    NUM_BLOCKS,
    blocks_of,
    insert,
    match,
    small_cache,
    tokens_of,
)


@pytest.fixture
def cache() -> PrefixCache:
    return small_cache()


def _insert_unasked(cache: PrefixCache, tokens: np.ndarray, blocks: list[int]) -> None:
    """Cache the blocks of a sequence whose first block nobody has asked for."""
    assert cache.find(cache.keys_of(tokens).item(0)) is None
    cache.insert_unasked(cache.keys_of(tokens).item(0), blocks_of(*blocks), tokens)


def _known_keys(cache: PrefixCache, *blocks: int) -> list[int]:
    return cache.key[blocks_of(*blocks)].tolist()


def test_blocks_behind_a_first_one_get_their_keys_when_somebody_asks(cache: PrefixCache) -> None:
    _insert_unasked(cache, tokens_of(1, 2, 3, 4), [0, 1])
    _insert_unasked(cache, tokens_of(5, 6, 7, 8), [3, 2])
    keys, others = cache.keys_of(tokens_of(1, 2, 3, 4)), cache.keys_of(tokens_of(5, 6, 7, 8))
    assert len(cache) == 4
    assert _known_keys(cache, 0, 1, 3, 2) == [keys.item(0), 0, others.item(0), 0]
    assert len(cache._block_of) == 2
    cache.check_integrity()
    assert match(cache, 1, 2, 3, 4) == [0, 1]
    assert _known_keys(cache, 0, 1, 3, 2) == [*keys.tolist(), others.item(0), 0]
    cache.check_integrity()
    assert match(cache, 5, 6, 7, 8) == [3, 2]
    assert match(cache, 7, 8) == []
    cache.check_integrity()


def test_a_sequence_put_aside_is_taken_in_before_anybody_can_miss_it(cache: PrefixCache) -> None:
    tokens = tokens_of(1, 2, 3, 4)
    _insert_unasked(cache, tokens, [0, 1])
    assert not cache._serial.any(), "taken in at once"
    assert cache.is_cached(blocks_of(0, 1, 2)).tolist() == [True, True, False]
    _insert_unasked(cache, tokens_of(7, 8), [2])
    assert not insert(cache, tokens_of(7, 8), [3]), "a key put aside was given again"
    _insert_unasked(cache, tokens_of(5, 6), [4])
    assert cache.next_serial == cache.serial_of(4) + 1
    _insert_unasked(cache, tokens_of(9, 9), [5])
    cache.check_leaves_first(blocks_of(5, 4, 2, 1, 0))
    with pytest.raises(IntegrityError, match="parent of block 1 would be evicted before it"):
        cache.check_leaves_first(blocks_of(0, 1))
    cache.check_integrity()


def test_a_first_block_that_is_not_asked_for_is_cached_all_the_same(cache: PrefixCache) -> None:
    _insert_unasked(cache, tokens_of(1, 2, 3, 4), [0, 1])
    cache.is_cached(blocks_of(0))
    before = pickle.dumps(cache)
    assert not insert(cache, tokens_of(1, 2, 5, 6), [2, 3])
    assert pickle.dumps(cache) == before


def test_blocks_forgotten_before_somebody_asks_are_not_entered(cache: PrefixCache) -> None:
    _insert_unasked(cache, tokens_of(1, 2, 3, 4, 5, 6), [0, 1, 2])
    assert cache.is_cached(blocks_of(2))
    cache.forget(blocks_of(2))
    _insert_unasked(cache, tokens_of(7, 8), [2])
    assert match(cache, 1, 2, 3, 4, 5, 6) == [0, 1]
    assert match(cache, 7, 8) == [2]
    cache.check_integrity()


def test_a_forgotten_block_does_not_take_the_key_of_one_cached_since(cache: PrefixCache) -> None:
    tokens = tokens_of(1, 2, 3, 4)
    _insert_unasked(cache, tokens, [0, 2])
    assert cache.is_cached(blocks_of(2))
    cache.forget(blocks_of(2))
    keys, content, root = cache.keys_of(tokens), cache.split(tokens), blocks_of(cache.serial_of(0))
    assert cache.insert_new(keys[1:], blocks_of(1), content[1:], root)
    assert match(cache, 1, 2, 3, 4) == [0, 1]
    cache.check_integrity()


@pytest.mark.parametrize("is_alone", [True, False])
def test_a_block_cached_anew_has_left_the_sequence_nobody_asked_for(
    cache: PrefixCache, is_alone: bool
) -> None:
    _insert_unasked(cache, tokens_of(1, 2, 3, 4), [0, 1])
    assert cache.is_cached(blocks_of(1))
    cache.forget(blocks_of(1))
    if is_alone:
        cache.insert_one(cache.keys_of(tokens_of(7, 8)).item(), 1, tokens_of(7, 8), ROOT_SERIAL)
    else:
        insert(cache, tokens_of(7, 8), [1])
    assert match(cache, 1, 2, 3, 4) == [0]
    assert match(cache, 7, 8) == [1]
    cache.check_integrity()


def test_a_forgotten_key_asks_for_nothing(cache: PrefixCache) -> None:
    insert(cache, tokens_of(7, 8), [1])
    cache.forget(blocks_of(1))
    _insert_unasked(cache, tokens_of(1, 2, 3, 4), [0, 1])
    assert cache.is_cached(blocks_of(1))
    assert match(cache, 7, 8) == []
    assert cache.find(cache.keys_of(tokens_of(7, 8)).item(0)) is None
    assert _known_keys(cache, 1) == [0]


def test_keys_nobody_asked_for_survive_that_stale_ones_are_dropped(cache: PrefixCache) -> None:
    _insert_unasked(cache, tokens_of(1, 2, 3, 4), [0, 1])
    for token in range(2 * NUM_BLOCKS + 1):
        insert(cache, tokens_of(9, token), [5])
        cache.forget(blocks_of(5))
    assert len(cache._block_of) < NUM_BLOCKS
    assert match(cache, 1, 2, 3, 4) == [0, 1]


def test_sequences_that_nobody_asked_for_do_not_pile_up(cache: PrefixCache) -> None:
    _insert_unasked(cache, tokens_of(1, 2, 3, 4), [0, 1])
    for token in range(3 * NUM_BLOCKS):
        _insert_unasked(cache, tokens_of(9, token, 0, 0), [5, 6])
        assert cache.is_cached(blocks_of(5, 6)).all()
        cache.forget(blocks_of(5, 6))
        assert len(cache._unasked) <= 2 * NUM_BLOCKS
    assert match(cache, 1, 2, 3, 4) == [0, 1]
    assert match(cache, 9, 1, 0, 0) == []


def test_integrity_check_sees_a_key_that_was_not_entered_though_asked_for(
    cache: PrefixCache,
) -> None:
    _insert_unasked(cache, tokens_of(1, 2, 3, 4), [0, 1])
    cache.check_integrity()
    cache.key[1] = 7
    with pytest.raises(IntegrityError, match="the prefix index does not have it"):
        cache.check_integrity()


def test_a_block_behind_a_first_one_that_is_gone_gives_its_key_up(cache: PrefixCache) -> None:
    insert(cache, tokens_of(1, 2, 3, 4), [5, 6])
    cache.forget(blocks_of(5))
    _insert_unasked(cache, tokens_of(1, 2, 3, 4), [0, 1])
    assert match(cache, 1, 2, 3, 4) == [0, 1]
    cache._drop_all_stale()
    assert match(cache, 1, 2, 3, 4) == [0, 1]
    cache.check_integrity()
