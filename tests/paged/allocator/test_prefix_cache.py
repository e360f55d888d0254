"""The prefix cache: exact runs are found, look-alikes are not."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paged.allocator.prefix_cache import ROOT_SERIAL, PrefixCache
from paged.errors import IntegrityError
from tests.helpers.prefix_caches import (
    NUM_BLOCKS,
    SIZE,
    blocks_of,
    insert,
    match,
    small_cache,
    tokens_of,
)


@pytest.fixture
def cache() -> PrefixCache:
    return small_cache()


def test_only_full_blocks_have_keys(cache: PrefixCache) -> None:
    assert cache.split(tokens_of(1, 2, 3, 4, 5)).tolist() == [[1, 2], [3, 4]]
    assert len(cache.keys_of(tokens_of(1, 2, 3, 4, 5))) == 2
    assert cache.keys_of(tokens_of(1)).tolist() == []


def test_keys_of_a_prompt_are_a_running_sum_of_its_blocks(cache: PrefixCache) -> None:
    tokens = tokens_of(0, 0, 0, 0, 9, 9)
    parts = cache.key_parts(cache.split(tokens), blocks_of(0, 1, 2))
    assert np.cumsum(parts).tolist() == cache.keys_of(tokens).tolist()
    assert len(set(cache.keys_of(tokens).tolist())) == 3


def test_the_longest_cached_run_is_found(cache: PrefixCache) -> None:
    assert match(cache, 1, 2, 3, 4) == []
    assert insert(cache, tokens_of(1, 2, 3, 4, 5, 6), [7, 3, 5])
    assert len(cache) == 3
    assert match(cache, 1, 2, 3, 4, 5, 6, 7) == [7, 3, 5]
    assert match(cache, 1, 2, 3, 4, 5) == [7, 3]
    assert match(cache, 1, 2, 3, 9, 5, 6) == [7]
    assert match(cache, 3, 4) == []
    assert match(cache, 1) == []


def test_a_taken_key_changes_nothing(cache: PrefixCache) -> None:
    insert(cache, tokens_of(1, 2), [0])
    before = pickle.dumps(cache)
    assert not insert(cache, tokens_of(1, 2, 3, 4), [1, 2])
    assert pickle.dumps(cache) == before


def test_the_same_key_twice_in_one_call_changes_nothing(cache: PrefixCache) -> None:
    key = int(cache.keys_of(tokens_of(1, 2))[0])
    content = np.array([[1, 2], [1, 2]], np.int32)
    before = pickle.dumps(cache)
    assert not cache.insert_new(
        blocks_of(key, key), blocks_of(0, 1), content, blocks_of(ROOT_SERIAL, ROOT_SERIAL)
    )
    assert pickle.dumps(cache) == before


def test_a_forgotten_block_and_its_children_are_not_found(cache: PrefixCache) -> None:
    insert(cache, tokens_of(1, 2, 3, 4, 5, 6), [0, 1, 2])
    cache.forget(blocks_of(1))
    assert cache.is_cached(blocks_of(0, 1, 2, 9)).tolist() == [True, False, True, False]
    assert match(cache, 1, 2, 3, 4, 5, 6) == [0]


def test_a_forgotten_key_is_free_again(cache: PrefixCache) -> None:
    insert(cache, tokens_of(1, 2, 3, 4), [0, 1])
    cache.forget(blocks_of(0, 1))
    key = int(cache.keys_of(tokens_of(1, 2))[0])
    assert (len(cache), cache.find(key)) == (0, None)
    assert insert(cache, tokens_of(1, 2, 3, 4), [4, 0])
    assert match(cache, 1, 2, 3, 4) == [4, 0]
    cache.check_integrity()


def test_a_forgotten_key_does_not_name_what_its_block_holds_now(cache: PrefixCache) -> None:
    insert(cache, tokens_of(1, 2), [0])
    cache.forget(blocks_of(0))
    assert insert(cache, tokens_of(3, 4), [0])
    assert cache.find(int(cache.keys_of(tokens_of(1, 2))[0])) is None
    assert match(cache, 1, 2) == []
    assert insert(cache, tokens_of(1, 2), [5])
    assert (match(cache, 1, 2), match(cache, 3, 4)) == ([5], [0])
    cache.check_integrity()


def test_a_key_in_use_beside_a_forgotten_one_changes_nothing(cache: PrefixCache) -> None:
    insert(cache, tokens_of(1, 2, 3, 4), [0, 1])
    cache.forget(blocks_of(0))
    before = pickle.dumps(cache)
    assert not insert(cache, tokens_of(1, 2, 3, 4), [2, 3])
    assert pickle.dumps(cache) == before


def test_forgotten_keys_do_not_pile_up(cache: PrefixCache) -> None:
    insert(cache, tokens_of(0, 0), [1])
    for token in range(1, 5 * NUM_BLOCKS):
        assert insert(cache, tokens_of(token, token), [0])
        cache.forget(blocks_of(0))
        assert len(cache._block_of) <= 2 * NUM_BLOCKS
    assert match(cache, 0, 0) == [1]
    cache.check_integrity()


def test_a_child_is_not_found_through_a_parent_of_other_life(cache: PrefixCache) -> None:
    insert(cache, tokens_of(1, 2, 3, 4), [0, 1])
    cache.forget(blocks_of(0))
    # The same content is cached again, in the same block: block 1 is of its former life.
    insert(cache, tokens_of(1, 2), [0])
    assert match(cache, 1, 2, 3, 4) == [0]


def test_a_key_collision_costs_the_hit_and_gives_no_wrong_one(cache: PrefixCache) -> None:
    insert(cache, tokens_of(1, 2, 3, 4), [0, 1])
    stolen = cache.keys_of(tokens_of(1, 2, 3, 4))
    assert cache.match(tokens_of(8, 8, 3, 4), stolen).tolist() == []
    assert cache.match(tokens_of(1, 2, 9, 4), stolen).tolist() == [0]


def test_content_and_parent_must_both_be_the_same(cache: PrefixCache) -> None:
    insert(cache, tokens_of(1, 2, 3, 4), [0, 1])
    assert cache.is_same(1, tokens_of(3, 4), cache.serial_of(0))
    assert not cache.is_same(1, tokens_of(3, 5), cache.serial_of(0))
    assert not cache.is_same(1, tokens_of(3, 4), ROOT_SERIAL)
    assert cache.is_same(0, tokens_of(1, 2), ROOT_SERIAL)


def test_a_block_is_found_by_its_key(cache: PrefixCache) -> None:
    insert(cache, tokens_of(1, 2), [4])
    assert cache.find(int(cache.keys_of(tokens_of(1, 2))[0])) == 4
    assert cache.find(0) is None


def test_leaves_must_stand_before_their_parents(cache: PrefixCache) -> None:
    insert(cache, tokens_of(1, 2, 3, 4), [0, 1])
    cache.check_leaves_first(blocks_of(1, 0))
    with pytest.raises(IntegrityError, match="parent of block 1 would be evicted before it"):
        cache.check_leaves_first(blocks_of(0, 1))


def test_integrity_check_sees_a_lost_index_entry(cache: PrefixCache) -> None:
    insert(cache, tokens_of(1, 2), [0])
    cache.check_integrity()
    cache._block_of.clear()
    with pytest.raises(IntegrityError, match="the prefix index does not have it"):
        cache.check_integrity()


def test_integrity_check_sees_a_wrong_key(cache: PrefixCache) -> None:
    insert(cache, tokens_of(1, 2), [0])
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
                    cache.keys_of(tokens_of(*name))[-1:],
                    blocks_of(block_of[name]),
                    tokens_of(*name[-SIZE:])[None],
                    blocks_of(serial),
                )
    expected = [block_of.get(tuple(asked[:n])) for n in range(SIZE, len(asked) + 1, SIZE)]
    found = expected[: expected.index(None)] if None in expected else expected
    assert match(cache, *asked) == found
    cache.check_integrity()


def test_the_key_of_one_block_goes_on_from_that_before(cache: PrefixCache) -> None:
    tokens = tokens_of(7, 8, 0, 0, 31_999, 5)
    key = 0
    for index, content in enumerate(cache.split(tokens)):
        key = cache.key_after(key, content, index)
        assert key == cache.keys_of(tokens).item(index)


def test_one_block_is_cached_as_several_are(cache: PrefixCache) -> None:
    insert(cache, tokens_of(1, 2), [0])
    key = cache.keys_of(tokens_of(1, 2, 3, 4)).item(1)
    cache.insert_one(key, 5, tokens_of(3, 4), cache.serial_of(0))
    assert match(cache, 1, 2, 3, 4) == [0, 5]
    assert insert(cache, tokens_of(6, 6), [1]), "its serial was given twice"
    assert len({cache.serial_of(block) for block in (0, 1, 5)}) == 3
    cache.check_integrity()
