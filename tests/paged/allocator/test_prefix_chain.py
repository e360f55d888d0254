"""Chains of running rows: what they register, share, and leave alone."""

from __future__ import annotations

import numpy as np
import pytest

from paged.allocator.block_pool import BlockPool
from paged.allocator.block_table import BlockTables
from paged.allocator.prefix_cache import PrefixCache
from paged.allocator.prefix_chain import STEPS_PER_PASS, PrefixChains

NUM_BLOCKS = 12
SIZE = 2


class Fixture:
    """Three rows of up to four blocks each, their tokens, and the cache they fill."""

    def __init__(self) -> None:
        self.tables = BlockTables(max_rows=3, max_model_len=8, block_size=SIZE)
        self.cache = PrefixCache(num_blocks=NUM_BLOCKS, block_size=SIZE, max_blocks_per_row=4)
        self.pool = BlockPool(NUM_BLOCKS, self.cache)
        self.chains = PrefixChains(self.tables, self.pool, self.cache)
        self.tokens = np.zeros((3, 8), np.int32)
        self.tables.take_rows(3)

    def start(self, row: int, *tokens: int) -> list[int]:
        """Give a row blocks and tokens; nothing is registered yet."""
        num_blocks = -(-len(tokens) // SIZE)
        self.tables.ids[row, :num_blocks] = self.pool.take(num_blocks)
        self.tables.num_blocks[row] = num_blocks
        self.chains.start(row, 0)
        return self.write(row, *tokens)

    def write(self, row: int, *tokens: int) -> list[int]:
        """Store all tokens of a row; returns its blocks."""
        self.tokens[row, : len(tokens)] = tokens
        self.tables.num_tokens[row] = len(tokens)
        return self.tables.row_ids(row).tolist()

    def register(self, *rows: int) -> None:
        self.chains.register(np.array(rows, np.int64), self.tokens)
        self.pool.check_integrity()

    def admit(self, row: int, *tokens: int) -> list[int]:
        """Give a row blocks and a prompt, whose keys are known."""
        blocks = self.start(row, *tokens)
        self.chains.admit(row, 0, len(tokens), self.keys_of(*tokens))
        return blocks

    def commit(self, *rows: int) -> None:
        self.chains.commit(np.array(rows, np.int64), self.tokens)
        self.pool.check_integrity()

    def begin_a_second_chunk(self) -> list[int]:
        """Compute 1, 2, 3 of the prompt of row 0, and have 4 in flight; return its blocks."""
        blocks = self.admit(0, 1, 2, 3, 0)
        self.write(0, 1, 2, 3)
        self.commit(0)
        self.chains.write(np.array([0]))
        self.write(0, 1, 2, 3, 4)
        return blocks

    def look_up(self, *tokens: int) -> None:
        self.chains.look_up(int(self.keys_of(*tokens)[0]))
        self.pool.check_integrity()

    def keys_of(self, *tokens: int) -> np.ndarray:
        return self.cache.keys_of(np.array(tokens, np.int32))

    def match(self, *tokens: int) -> list[int]:
        return self.cache.match(np.array(tokens, np.int32), self.keys_of(*tokens)).tolist()


@pytest.fixture
def it() -> Fixture:
    return Fixture()


def test_full_blocks_of_a_prompt_become_hittable(it: Fixture) -> None:
    blocks = it.start(0, 5, 6, 7, 8, 9)
    assert it.match(5, 6, 7, 8) == []
    it.register(0)
    assert it.match(5, 6, 7, 8, 9) == blocks[:2]


def test_a_part_filled_block_is_not_hittable(it: Fixture) -> None:
    it.start(0, 5)
    it.register(0)
    assert len(it.cache) == 0


def test_a_block_becomes_hittable_in_the_step_that_fills_it(it: Fixture) -> None:
    blocks = it.start(0, 5, 6, 7, 0)
    it.write(0, 5, 6, 7)
    it.register(0)
    assert it.match(5, 6, 7, 8) == blocks[:1]
    it.write(0, 5, 6, 7, 8)
    it.register(0)
    assert it.match(5, 6, 7, 8) == blocks


def test_rows_that_fill_blocks_in_one_step_are_all_registered(it: Fixture) -> None:
    first, second, third = it.start(0, 1, 2), it.start(1, 3, 4), it.start(2, 5, 6, 7, 8)
    it.register(0, 1, 2)
    assert it.match(1, 2) == first
    assert it.match(3, 4) == second
    assert it.match(5, 6, 7, 8) == third


def test_runs_of_several_rows_are_registered_each_from_its_own_start(it: Fixture) -> None:
    first, second = it.start(0, 1, 2, 3, 4), it.start(1, 5, 6, 7, 8, 9)
    it.register(0, 1)
    assert it.match(1, 2, 3, 4) == first
    assert it.match(5, 6, 7, 8) == second[:2]
    # The parent of a first block is the root, not the last block of another row.
    assert it.match(7, 8) == []
    it.write(0, 1, 2, 3, 4)
    it.tables.ids[0, 2] = it.pool.take(1)[0]
    it.tables.num_blocks[0] = 3
    third = it.write(0, 1, 2, 3, 4, 5, 6)
    it.register(0)
    assert it.match(1, 2, 3, 4, 5, 6) == third


def test_rows_settle_what_no_step_in_flight_has_yet_to_write(it: Fixture) -> None:
    first, _ = it.start(0, 1, 2), it.start(1, 3, 4)
    it.chains.commit(np.zeros(0, np.int64), it.tokens)
    it.chains.write(np.array([1]))
    it.chains.settle([0, 1])
    assert (it.match(1, 2), it.match(3, 4)) == (first, [])


def test_a_duplicate_block_gives_way_to_the_cached_one(it: Fixture) -> None:
    first, second = it.start(0, 1, 2, 3, 4), it.start(1, 1, 2, 3, 9)
    it.register(0)
    it.register(1)
    assert it.tables.row_ids(1).tolist() == [first[0], second[1]]
    assert it.pool.references[first[0]] == 2
    assert it.pool.references[second[0]] == 0
    assert it.match(1, 2, 3, 9) == [first[0], second[1]]


@pytest.mark.parametrize("tokens", [(1, 2), (1, 2, 3, 4)])
def test_duplicates_within_one_step_share_the_first(it: Fixture, tokens: tuple[int, ...]) -> None:
    first, _ = it.start(0, *tokens), it.start(1, *tokens)
    it.register(0, 1)
    assert it.tables.row_ids(1).tolist() == first
    assert it.pool.num_held == len(first)


def test_a_duplicate_held_by_others_too_stays_and_ends_the_chain(it: Fixture) -> None:
    first, second = it.start(0, 1, 2), it.start(1, 1, 2, 3, 4)
    it.pool.retain(np.array(second[:1]))
    it.register(0)
    it.register(1)
    assert it.tables.row_ids(1).tolist() == second
    # What follows could be found through the cached block only, which the row lacks.
    assert it.match(1, 2, 3, 4) == first


def test_a_stale_key_that_nobody_holds_makes_room(it: Fixture) -> None:
    old = it.start(0, 1, 2, 3, 4)
    it.register(0)
    assert it.match(1, 2, 3, 4) == old
    # The parent is evicted, the child stays behind and can never be hit again.
    it.pool.drop(np.array(old))
    it.pool.discard(np.array(old[:1]))
    it.tables.give_rows([0])
    new = it.start(1, 1, 2, 0, 0)
    it.write(1, 1, 2)
    it.register(1)
    assert it.match(1, 2, 3, 4) == new[:1]
    it.write(1, 1, 2, 3, 4)
    it.register(1)
    assert it.match(1, 2, 3, 4) == new
    assert it.pool.num_evictable == 0


def test_a_key_of_other_content_in_use_ends_the_chain(it: Fixture) -> None:
    it.cache._within[:] = 0  # every block at one place has the same key now
    first = it.start(0, 1, 2)
    it.register(0)
    it.start(1, 3, 4, 5, 6)
    it.register(1)
    assert it.match(1, 2) == first
    assert it.match(3, 4) == []
    assert len(it.cache) == 1


def test_a_chain_goes_on_after_a_hit(it: Fixture) -> None:
    first = it.start(0, 1, 2, 3, 4)
    it.register(0)
    second = it.start(1, 1, 2, 5, 6)
    it.tables.ids[1, 0] = first[0]
    it.pool.retain(np.array(first[:1]))
    it.pool.drop(np.array(second[:1]))
    it.chains.start(1, 1)
    it.register(1)
    assert it.match(1, 2, 5, 6) == [first[0], second[1]]


def test_a_prompt_is_registered_when_one_that_begins_alike_is_looked_up(it: Fixture) -> None:
    blocks = it.admit(0, 1, 2, 3, 4, 5)
    it.commit(0)
    it.look_up(3, 4)
    assert it.match(1, 2) == []
    it.look_up(1, 2)
    assert it.match(1, 2, 3, 4) == blocks[:2]


def test_a_look_up_finds_no_block_that_the_step_in_flight_fills(it: Fixture) -> None:
    blocks = it.begin_a_second_chunk()
    it.look_up(1, 2)
    assert it.match(1, 2, 3, 4) == blocks[:1]
    it.chains.settle([0])
    assert it.match(1, 2, 3, 4) == blocks[:1]
    it.commit(0)
    it.register(0)
    assert it.match(1, 2, 3, 4) == blocks


def test_a_prompt_in_chunks_is_registered_as_far_as_it_is_computed(it: Fixture) -> None:
    blocks = it.admit(0, 1, 2, 3, 4, 5, 6)
    for end in (2, 4, 6):
        it.write(0, *range(1, end + 1))
        it.commit(0)
        it.look_up(1, 2)
        assert it.match(1, 2, 3, 4, 5, 6) == blocks[: end // SIZE]


def test_a_row_in_flight_settles_the_prompt_it_has_computed(it: Fixture) -> None:
    blocks = it.begin_a_second_chunk()
    it.chains.settle([0])
    assert it.match(1, 2, 3, 4) == blocks[:1]


def test_a_step_that_fails_leaves_prompts_of_earlier_ones(it: Fixture) -> None:
    blocks = it.begin_a_second_chunk()
    it.chains.abandon()
    it.register(0)
    assert it.match(1, 2, 3, 4) == blocks[:1]


def test_prompts_that_begin_alike_share_after_their_step(it: Fixture) -> None:
    first, second = it.admit(0, 1, 2, 3, 4), it.admit(1, 1, 2, 5, 6)
    it.commit(0, 1)
    assert it.tables.row_ids(1).tolist() == [first[0], second[1]]
    assert (it.match(1, 2, 3, 4), it.match(1, 2, 5, 6)) == (first, [first[0], second[1]])


def test_a_prompt_that_begins_like_a_cached_one_shares_after_its_step(it: Fixture) -> None:
    first = it.start(0, 1, 2, 3, 4)
    it.register(0)
    it.admit(1, 1, 2, 3, 4)
    it.commit(1)
    assert it.tables.row_ids(1).tolist() == first


def test_a_prompt_without_known_keys_is_registered_at_once(it: Fixture) -> None:
    blocks = it.start(0, 1, 2, 3)
    it.chains.admit(0, 0, 3, None)
    it.commit(0)
    assert it.match(1, 2, 3) == blocks[:1]


def test_all_that_is_full_is_registered_every_few_steps(it: Fixture) -> None:
    decoded = it.start(1, 3, 4)
    for _ in range(STEPS_PER_PASS - 1):
        it.commit(1)
    assert it.match(3, 4) == []
    it.commit(1)
    assert it.match(3, 4) == decoded


def test_a_branch_registers_what_it_adds(it: Fixture) -> None:
    parent = it.start(0, 1, 2)
    it.register(0)
    own = it.start(1, 1, 2, 3, 4)
    it.tables.ids[1, 0] = parent[0]
    it.pool.retain(np.array(parent))
    it.pool.drop(np.array(own[:1]))
    it.chains.branch(0, np.array([1]), 1)
    it.register(1)
    assert it.match(1, 2, 3, 4) == [parent[0], own[1]]


def test_a_closed_chain_registers_nothing_nor_do_its_branches(it: Fixture) -> None:
    it.start(0, 1, 2)
    it.start(1, 3, 4)
    it.register(0)
    it.chains.close(0)
    it.chains.branch(0, np.array([1]), 1)
    it.register(0, 1)
    assert len(it.cache) == 1
