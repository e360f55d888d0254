"""First blocks of a request, where a window lets it do with some of them."""

from __future__ import annotations

import numpy as np
import pytest

from paged.allocator.base import Demand
from paged.allocator.paged import PagedAllocator
from paged.config import CacheConfig, GroupConfig

SIZE, MAX_MODEL_LEN = 4, 64
PROMPT = list(range(30))


def _make(num_blocks: int, *, window: int = 8, max_step_tokens: int | None = 8) -> PagedAllocator:
    config = CacheConfig(
        num_blocks=num_blocks,
        block_size=SIZE,
        max_model_len=MAX_MODEL_LEN,
        watermark=0.0,
        enable_prefix_caching=True,
        groups=(GroupConfig(num_blocks=num_blocks, window=window),),
        max_step_tokens=max_step_tokens,
    )
    return PagedAllocator(config, max_rows=3)


def _demand(tokens: list[int]) -> Demand:
    return Demand(
        num_tokens=len(tokens), max_tokens=MAX_MODEL_LEN, tokens=np.array(tokens, np.int32)
    )


def _run(allocator: PagedAllocator, tokens: list[int], *, chunk: int = 8) -> int:
    """Admit a prompt, compute it in chunks and return its row."""
    admission = allocator.admit(_demand(tokens))
    assert admission is not None
    table = np.zeros((3, MAX_MODEL_LEN), np.int32)
    table[admission.rows[0], : len(tokens)] = tokens
    start = admission.num_cached_tokens
    for end in [*range(start + chunk, len(tokens), chunk), len(tokens)]:
        allocator.grow(admission.rows, np.array([end]))
        allocator.commit(admission.rows, table)
        allocator.check_integrity()
    return int(admission.rows[0])


def test_a_long_prompt_is_given_what_it_holds_at_once() -> None:
    allocator = _make(num_blocks=5)
    row = _run(allocator, PROMPT)
    assert allocator.tables.first_block[row] == 5
    assert allocator.tables.num_blocks[row] == 8
    assert allocator.pool.num_held == 3


def test_without_a_limit_of_tokens_the_whole_prompt_is_given_room() -> None:
    allocator = _make(num_blocks=8, max_step_tokens=None)
    row = _run(allocator, PROMPT, chunk=len(PROMPT))
    assert allocator.tables.num_blocks[row] == 8
    assert allocator.pool.num_held == 3
    assert _make(num_blocks=7, max_step_tokens=None).admit(_demand(PROMPT)) is None


@pytest.mark.parametrize(("num_blocks", "is_enough"), [(4, False), (5, True)])
def test_what_never_fits_is_refused(num_blocks: int, is_enough: bool) -> None:
    allocator = _make(num_blocks)
    refusal = allocator.refusal(_demand(PROMPT))
    assert (refusal is None) == is_enough
    assert (allocator.admit(_demand(PROMPT)) is not None) == is_enough
    if refusal is not None:
        assert refusal.startswith("30 tokens need 5 blocks of 4, the pool has 4")


def test_longer_than_the_model_allows_is_refused_however_few_blocks_it_holds() -> None:
    allocator = _make(num_blocks=40)
    demand = _demand(list(range(MAX_MODEL_LEN + 1)))
    refusal = allocator.refusal(demand)
    assert refusal is not None
    assert "a sequence at most 16" in refusal
    assert allocator.admit(demand) is None


def test_a_hit_holds_only_blocks_that_the_next_token_reads() -> None:
    allocator = _make(num_blocks=16)
    allocator.release(np.array([_run(allocator, PROMPT)]))
    assert allocator.usage(None).cached_free == 7 * SIZE
    admission = allocator.admit(_demand(PROMPT))
    assert admission is not None
    assert admission.num_cached_tokens == 28
    assert allocator.tables.first_block[admission.rows[0]] == 5
    # Two blocks of the hit and a new one.
    assert allocator.pool.num_held == 3
    allocator.check_integrity()


def test_a_hit_behind_the_window_counts_as_used() -> None:
    allocator = _make(num_blocks=16)
    allocator.release(np.array([_run(allocator, PROMPT)]))
    allocator.release(np.array([_run(allocator, [100 + token for token in range(30)])]))
    row = _run(allocator, PROMPT)
    # Room for six more blocks of others costs the second prompt its blocks, not the first.
    taken = allocator.pool.take(allocator.pool.num_free + 6)
    allocator.release(np.array([row]))
    assert len(allocator.intake.match(_demand(PROMPT))) == 7
    allocator.pool.drop(taken)


def test_a_whole_hit_behind_a_window_copies_its_last_block() -> None:
    allocator = _make(num_blocks=16)
    prompt = PROMPT[:28]
    allocator.release(np.array([_run(allocator, prompt)]))
    admission = allocator.admit(_demand(prompt))
    assert admission is not None
    assert admission.num_cached_tokens == 27
    assert len(admission.copies) == 1
    allocator.check_integrity()
    row = int(admission.rows[0])
    assert allocator.tables.first_block[row] == 5
    assert allocator.tables.ids[row, 6] == admission.copies.dst[0]


def test_blocks_that_left_the_window_are_hit_again() -> None:
    allocator = _make(num_blocks=16)
    row = _run(allocator, PROMPT)
    assert allocator.tables.first_block[row] == 5
    # The first blocks are held by nobody; another prompt that begins alike finds them.
    admission = allocator.admit(_demand([*PROMPT[:9], 99]))
    assert admission is not None
    assert admission.num_cached_tokens == 8
    assert allocator.tables.row_ids(int(admission.rows[0]))[:2].tolist() == [0, 1]


def test_a_hit_behind_the_window_takes_no_room() -> None:
    allocator = _make(num_blocks=12)
    allocator.release(np.array([_run(allocator, PROMPT)]))
    # Seven blocks of the hit are all that is left: three of them are needed, one anew.
    allocator.pool.take(allocator.pool.num_free)
    assert allocator.pool.num_available == 7
    admission = allocator.admit(_demand(PROMPT))
    assert admission is not None
    assert admission.num_cached_tokens == 28
    assert allocator.pool.num_available == 4
