"""The prefix cache: exact runs are found, look-alikes are not."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paged.allocator.prefix_cache import ROOT_SERIAL, PrefixCache
from paged.errors import IntegrityError

NUM_BLOCKS = 12
SIZE = 2


@pytest.fixture
def cache() -> PrefixCache:
    return PrefixCache(num_blocks=NUM_BLOCKS, block_size=SIZE, max_blocks_per_row=6)


def _tokens(*tokens: int) -> np.ndarray:
    return np.array(tokens, np.int32)


def _array(*blocks: int) -> np.ndarray:
    return np.array(blocks, np.int64)


def _insert(cache: PrefixCache, tokens: np.ndarray, blocks: list[int]) -> bool:
    keys = cache.keys_of(tokens)
    inside = range(cache.next_serial, cache.next_serial + len(blocks) - 1)
    parents = _array(ROOT_SERIAL, *inside)
    return cache.insert_new(keys, _array(*blocks), cache.split(tokens), parents)


def _match(cache: PrefixCache, *tokens: int) -> list[int]:
    return cache.match(_tokens(*tokens), cache.keys_of(_tokens(*tokens))).tolist()


def test_only_full_blocks_have_keys(cache: PrefixCache) -> None:
    assert cache.split(_tokens(1, 2, 3, 4, 5)).tolist() == [[1, 2], [3, 4]]
    assert len(cache.keys_of(_tokens(1, 2, 3, 4, 5))) == 2
    assert cache.keys_of(_tokens(1)).tolist() == []


def test_keys_of_a_prompt_are_a_running_sum_of_its_blocks(cache: PrefixCache) -> None:
    tokens = _tokens(0, 0, 0, 0, 9, 9)
    parts = cache.key_parts(cache.split(tokens), _array(0, 1, 2))
    assert np.cumsum(parts).tolist() == cache.keys_of(tokens).tolist()
    assert len(set(cache.keys_of(tokens).tolist())) == 3


def test_the_longest_cached_run_is_found(cache: PrefixCache) -> None:
    assert _match(cache, 1, 2, 3, 4) == []
    assert _insert(cache, _tokens(1, 2, 3, 4, 5, 6), [7, 3, 5])
    assert len(cache) == 3
    assert _match(cache, 1, 2, 3, 4, 5, 6, 7) == [7, 3, 5]
    assert _match(cache, 1, 2, 3, 4, 5) == [7, 3]
    assert _match(cache, 1, 2, 3, 9, 5, 6) == [7]
    assert _match(cache, 3, 4) == []
    assert _match(cache, 1) == []


def test_a_taken_key_changes_nothing(cache: PrefixCache) -> None:
    _insert(cache, _tokens(1, 2), [0])
    before = pickle.dumps(cache)
    assert not _insert(cache, _tokens(1, 2, 3, 4), [1, 2])
    assert pickle.dumps(cache) == before


def test_the_same_key_twice_in_one_call_changes_nothing(cache: PrefixCache) -> None:
    key = int(cache.keys_of(_tokens(1, 2))[0])
    content = np.array([[1, 2], [1, 2]], np.int32)
    before = pickle.dumps(cache)
    assert not cache.insert_new(
        _array(key, key), _array(0, 1), content, _array(ROOT_SERIAL, ROOT_SERIAL)
    )
    assert pickle.dumps(cache) == before


def test_a_forgotten_block_and_its_children_are_not_found(cache: PrefixCache) -> None:
    _insert(cache, _tokens(1, 2, 3, 4, 5, 6), [0, 1, 2])
    cache.forget(_array(1))
    assert cache.is_cached(_array(0, 1, 2, 9)).tolist() == [True, False, True, False]
    assert _match(cache, 1, 2, 3, 4, 5, 6) == [0]


def test_a_forgotten_key_is_free_again(cache: PrefixCache) -> None:
    _insert(cache, _tokens(1, 2, 3, 4), [0, 1])
    cache.forget(_array(0, 1))
    key = int(cache.keys_of(_tokens(1, 2))[0])
    assert (len(cache), cache.find(key)) == (0, None)
    assert _insert(cache, _tokens(1, 2, 3, 4), [4, 0])
    assert _match(cache, 1, 2, 3, 4) == [4, 0]
    cache.check_integrity()


def test_a_forgotten_key_does_not_name_what_its_block_holds_now(cache: PrefixCache) -> None:
    _insert(cache, _tokens(1, 2), [0])
    cache.forget(_array(0))
    assert _insert(cache, _tokens(3, 4), [0])
    assert cache.find(int(cache.keys_of(_tokens(1, 2))[0])) is None
    assert _match(cache, 1, 2) == []
    assert _insert(cache, _tokens(1, 2), [5])
    assert (_match(cache, 1, 2), _match(cache, 3, 4)) == ([5], [0])
    cache.check_integrity()


def test_a_key_in_use_beside_a_forgotten_one_changes_nothing(cache: PrefixCache) -> None:
    _insert(cache, _tokens(1, 2, 3, 4), [0, 1])
    cache.forget(_array(0))
    before = pickle.dumps(cache)
    assert not _insert(cache, _tokens(1, 2, 3, 4), [2, 3])
    assert pickle.dumps(cache) == before


def test_forgotten_keys_do_not_pile_up(cache: PrefixCache) -> None:
    _insert(cache, _tokens(0, 0), [1])
    for token in range(1, 5 * NUM_BLOCKS):
        assert _insert(cache, _tokens(token, token), [0])
        cache.forget(_array(0))
        assert len(cache._block_of) <= 2 * NUM_BLOCKS
    assert _match(cache, 0, 0) == [1]
    cache.check_integrity()


def test_a_child_is_not_found_through_a_parent_of_other_life(cache: PrefixCache) -> None:
    _insert(cache, _tokens(1, 2, 3, 4), [0, 1])
    cache.forget(_array(0))
    # The same content is cached again, in the same block: block 1 is of its former life.
    _insert(cache, _tokens(1, 2), [0])
    assert _match(cache, 1, 2, 3, 4) == [0]


def test_a_key_collision_costs_the_hit_and_gives_no_wrong_one(cache: PrefixCache) -> None:
    _insert(cache, _tokens(1, 2, 3, 4), [0, 1])
    stolen = cache.keys_of(_tokens(1, 2, 3, 4))
    assert cache.match(_tokens(8, 8, 3, 4), stolen).tolist() == []
    assert cache.match(_tokens(1, 2, 9, 4), stolen).tolist() == [0]


def test_content_and_parent_must_both_be_the_same(cache: PrefixCache) -> None:
    _insert(cache, _tokens(1, 2, 3, 4), [0, 1])
    assert cache.is_same(1, _tokens(3, 4), cache.serial_of(0))
    assert not cache.is_same(1, _tokens(3, 5), cache.serial_of(0))
    assert not cache.is_same(1, _tokens(3, 4), ROOT_SERIAL)
    assert cache.is_same(0, _tokens(1, 2), ROOT_SERIAL)


def test_a_block_is_found_by_its_key(cache: PrefixCache) -> None:
    _insert(cache, _tokens(1, 2), [4])
    assert cache.find(int(cache.keys_of(_tokens(1, 2))[0])) == 4
    assert cache.find(0) is None


def test_leaves_must_stand_before_their_parents(cache: PrefixCache) -> None:
    _insert(cache, _tokens(1, 2, 3, 4), [0, 1])
    cache.check_leaves_first(_array(1, 0))
    with pytest.raises(IntegrityError, match="parent of block 1 would be evicted before it"):
        cache.check_leaves_first(_array(0, 1))


def test_integrity_check_sees_a_lost_index_entry(cache: PrefixCache) -> None:
    _insert(cache, _tokens(1, 2), [0])
    cache.check_integrity()
    cache._block_of.clear()
    with pytest.raises(IntegrityError, match="the prefix index does not have it"):
        cache.check_integrity()


def test_integrity_check_sees_a_wrong_key(cache: PrefixCache) -> None:
    _insert(cache, _tokens(1, 2), [0])
    cache.key[0] += 1
    with pytest.raises(IntegrityError, match="the prefix index does not have it"):
        cache.check_integrity()


prompts = st.lists(st.integers(0, 1), max_size=3 * SIZE)


@given(seen=st.lists(prompts, max_size=4), asked=prompts)
def test_matches_are_exactly_the_known_leading_blocks(
    seen: list[list[int]], asked: list[int]
) -> None:
    cache = PrefixCache(num_blocks=NUM_BLOCKS, block_size=SIZE, max_blocks_per_row=6)
    block_of: dict[tuple[int, ...], int] = {}
    for tokens in seen:
        for end in range(SIZE, len(tokens) + 1, SIZE):
            name = tuple(tokens[:end])
            if name not in block_of:
                parent = block_of.get(name[:-SIZE])
                serial = ROOT_SERIAL if parent is None else cache.serial_of(parent)
                block_of[name] = len(block_of)
                cache.insert_new(
                    cache.keys_of(_tokens(*name))[-1:],
                    _array(block_of[name]),
                    _tokens(*name[-SIZE:])[None],
                    _array(serial),
                )
    expected = [block_of.get(tuple(asked[:n])) for n in range(SIZE, len(asked) + 1, SIZE)]
    found = expected[: expected.index(None)] if None in expected else expected
    assert _match(cache, *asked) == found
    cache.check_integrity()


def test_the_key_of_one_block_goes_on_from_that_before(cache: PrefixCache) -> None:
    tokens = _tokens(7, 8, 0, 0, 31_999, 5)
    key = 0
    for index, content in enumerate(cache.split(tokens)):
        key = cache.key_after(key, content, index)
        assert key == cache.keys_of(tokens).item(index)


def test_one_block_is_cached_as_several_are(cache: PrefixCache) -> None:
    _insert(cache, _tokens(1, 2), [0])
    key = cache.keys_of(_tokens(1, 2, 3, 4)).item(1)
    cache.insert_one(key, 5, _tokens(3, 4), cache.serial_of(0))
    assert _match(cache, 1, 2, 3, 4) == [0, 5]
    assert _insert(cache, _tokens(6, 6), [1]), "its serial was given twice"
    assert len({cache.serial_of(block) for block in (0, 1, 5)}) == 3
    cache.check_integrity()
