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


def _insert_unasked(cache: PrefixCache, tokens: np.ndarray, blocks: list[int]) -> bool:
    """Cache the blocks of a sequence whose first block nobody has asked for."""
    first = cache.next_serial
    parents = blocks_of(ROOT_SERIAL, *range(first, first + len(blocks) - 1))
    content, roots = cache.split(tokens), np.full(len(blocks), first)
    return cache.insert_new(cache.keys_of(tokens), blocks_of(*blocks), content, parents, roots)


def test_keys_behind_a_first_block_are_entered_when_somebody_asks(cache: PrefixCache) -> None:
    assert _insert_unasked(cache, tokens_of(1, 2, 3, 4), [0, 1])
    assert _insert_unasked(cache, tokens_of(5, 6, 7, 8), [2, 3])
    assert cache.unasked_roots(blocks_of(1, 3)).tolist() == [cache.serial_of(0), cache.serial_of(2)]
    assert len(cache._block_of) == 2
    cache.check_integrity()
    assert match(cache, 1, 2, 3, 4) == [0, 1]
    assert cache.unasked_roots(blocks_of(0, 1, 3)).tolist() == [0, 0, cache.serial_of(2)]
    cache.check_integrity()


def test_a_first_block_that_is_cached_is_not_cached_unasked_again(cache: PrefixCache) -> None:
    _insert_unasked(cache, tokens_of(1, 2, 3, 4), [0, 1])
    before = pickle.dumps(cache)
    assert not _insert_unasked(cache, tokens_of(1, 2, 5, 6), [2, 3])
    assert pickle.dumps(cache) == before


def test_blocks_forgotten_before_somebody_asks_are_not_entered(cache: PrefixCache) -> None:
    _insert_unasked(cache, tokens_of(1, 2, 3, 4, 5, 6), [0, 1, 2])
    cache.forget(blocks_of(2))
    assert _insert_unasked(cache, tokens_of(7, 8), [2])
    assert match(cache, 1, 2, 3, 4, 5, 6) == [0, 1]
    assert match(cache, 7, 8) == [2]
    cache.check_integrity()


def test_a_forgotten_block_does_not_take_the_key_of_one_cached_since(cache: PrefixCache) -> None:
    tokens = tokens_of(1, 2, 3, 4)
    _insert_unasked(cache, tokens, [0, 2])
    cache.forget(blocks_of(2))
    keys, content, root = cache.keys_of(tokens), cache.split(tokens), blocks_of(cache.serial_of(0))
    assert cache.insert_new(keys[1:], blocks_of(1), content[1:], root, root)
    assert match(cache, 1, 2, 3, 4) == [0, 1]
    cache.check_integrity()


@pytest.mark.parametrize("is_alone", [True, False])
def test_a_block_cached_anew_has_left_the_sequence_nobody_asked_for(
    cache: PrefixCache, is_alone: bool
) -> None:
    _insert_unasked(cache, tokens_of(1, 2, 3, 4), [0, 1])
    cache.forget(blocks_of(1))
    if is_alone:
        cache.insert_one(cache.keys_of(tokens_of(7, 8)).item(), 1, tokens_of(7, 8), ROOT_SERIAL)
    else:
        insert(cache, tokens_of(7, 8), [1])
    assert cache.unasked_roots(blocks_of(0, 1)).tolist() == [cache.serial_of(0), 0]
    assert match(cache, 1, 2, 3, 4) == [0]


def test_a_forgotten_key_asks_for_nothing(cache: PrefixCache) -> None:
    insert(cache, tokens_of(7, 8), [1])
    cache.forget(blocks_of(1))
    _insert_unasked(cache, tokens_of(1, 2, 3, 4), [0, 1])
    assert match(cache, 7, 8) == []
    assert cache.unasked_roots(blocks_of(1)).tolist() == [cache.serial_of(0)]


def test_keys_nobody_asked_for_survive_that_stale_ones_are_dropped(cache: PrefixCache) -> None:
    _insert_unasked(cache, tokens_of(1, 2, 3, 4), [0, 1])
    for token in range(2 * NUM_BLOCKS + 1):
        insert(cache, tokens_of(9, token), [5])
        cache.forget(blocks_of(5))
    assert len(cache._block_of) < NUM_BLOCKS
    assert match(cache, 1, 2, 3, 4) == [0, 1]


def test_integrity_check_sees_a_key_that_was_not_entered_though_asked_for(
    cache: PrefixCache,
) -> None:
    _insert_unasked(cache, tokens_of(1, 2, 3, 4), [0, 1])
    cache._root_serial[1] = 0
    with pytest.raises(IntegrityError, match="the prefix index does not have it"):
        cache.check_integrity()
