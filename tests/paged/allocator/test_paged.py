"""The paged allocator: exact blocks worked out by hand, and every refusal."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from paged.allocator.base import NO_MOVES, Admission, Demand
from paged.allocator.paged import PagedAllocator
from paged.config import CacheConfig
from paged.errors import ConfigError, IntegrityError, OutOfBlocks, UnknownRow

SIZE = 4
MAX_ROWS = 4


def _make(num_blocks: int = 10, **values: Any) -> PagedAllocator:
    config = CacheConfig(num_blocks=num_blocks, block_size=SIZE, max_model_len=24, **values)
    return PagedAllocator(config, max_rows=MAX_ROWS)


def _rows(*rows: int) -> np.ndarray:
    return np.array(rows, np.int64)


def _demand(num_tokens: int, **values: Any) -> Demand:
    return Demand(num_tokens=num_tokens, max_tokens=24, **values)


def _admit(allocator: PagedAllocator, num_tokens: int, **values: Any) -> Admission:
    admission = allocator.admit(_demand(num_tokens, **values))
    assert admission is not None
    return admission


def _run(allocator: PagedAllocator, tokens: list[int], **values: Any) -> Admission:
    """Admit a prompt, compute all of it, and say that the step has run."""
    admission = _admit(allocator, len(tokens), tokens=np.array(tokens, np.int32), **values)
    table = np.zeros((MAX_ROWS, 24), np.int32)
    table[admission.rows[0], : len(tokens)] = tokens
    allocator.grow(admission.rows[:1], _rows(len(tokens)))
    allocator.commit(admission.rows[:1], table)
    return admission


def test_admission_gives_room_for_all_known_tokens() -> None:
    allocator = _make()
    admission = _admit(allocator, 9, num_sequences=2)
    assert admission.rows.tolist() == [0, 1]
    assert admission.num_cached_tokens == 0
    assert admission.copies is NO_MOVES
    assert allocator.tables.row_ids(0).tolist() == [0, 1, 2]
    assert allocator.tables.row_ids(1).tolist() == []
    assert allocator.tables.num_tokens[0] == 0


def test_growth_takes_a_block_only_when_the_last_is_full() -> None:
    allocator = _make()
    _admit(allocator, 3)
    _admit(allocator, 4)
    allocator.grow(_rows(0, 1), _rows(4, 4))
    assert allocator.pool.num_held == 2
    allocator.grow(_rows(1, 0), _rows(5, 13))
    assert allocator.tables.row_ids(1).tolist() == [1, 2]
    assert allocator.tables.row_ids(0).tolist() == [0, 3, 4, 5]
    assert allocator.tables.num_tokens[:2].tolist() == [13, 5]


def test_growth_beyond_the_pool_changes_nothing() -> None:
    allocator = _make(num_blocks=3)
    _admit(allocator, 8)
    before = pickle.dumps(allocator)
    with pytest.raises(OutOfBlocks, match="needed 2 blocks, 1 available"):
        allocator.grow(_rows(0), _rows(13))
    assert pickle.dumps(allocator) == before


def test_growth_beyond_the_longest_sequence_changes_nothing() -> None:
    allocator = _make()
    _admit(allocator, 8)
    before = pickle.dumps(allocator)
    with pytest.raises(ConfigError, match="row 0 asks for 7 blocks, max_model_len allows 6"):
        allocator.grow(_rows(0), _rows(25))
    assert pickle.dumps(allocator) == before


@pytest.mark.parametrize(
    ("demand", "wanted"),
    [
        (_demand(24), None),
        (_demand(25), "25 tokens need 7 blocks of 4, the pool has 10, a sequence at most 6"),
        (_demand(1, num_sequences=4), None),
        (_demand(1, num_sequences=5), "5 sequences exceed the 4 that can run at once"),
    ],
)
def test_what_can_never_fit_is_refused(demand: Demand, wanted: str | None) -> None:
    allocator = _make()
    assert allocator.refusal(demand) == wanted
    assert (allocator.admit(demand) is None) == (wanted is not None)
    allocator.check_integrity()


def test_a_prompt_larger_than_the_pool_is_refused() -> None:
    wanted = "12 tokens need 3 blocks of 4, the pool has 2, a sequence at most 6"
    assert _make(num_blocks=2).refusal(_demand(12)) == wanted


def test_the_watermark_is_kept_for_running_sequences() -> None:
    allocator = _make(num_blocks=6, watermark=0.2)
    assert allocator.num_watermark_blocks == 2
    _admit(allocator, 4)
    assert allocator.admit(_demand(4 * 4)) is None
    _admit(allocator, 4 * 3)


def test_headroom_is_kept_on_top_of_the_watermark() -> None:
    allocator = _make(num_blocks=10, watermark=0.2)
    _admit(allocator, 4)
    assert allocator.admit(_demand(4 * 5, headroom_blocks=3)) is None
    _admit(allocator, 4 * 4, headroom_blocks=3)


def test_an_idle_pool_gives_all_it_has() -> None:
    allocator = _make(num_blocks=6, watermark=0.2)
    _admit(allocator, 24, headroom_blocks=6)
    assert allocator.pool.num_available == 0


def test_an_admission_that_must_wait_changes_nothing() -> None:
    allocator = _make(num_blocks=3, enable_prefix_caching=True)
    _run(allocator, [1] * 8)
    tokens = np.array([1] * 8 + [2] * 8, np.int32)
    # The first to ask for a prefix completes the index.
    allocator.intake.match(_demand(16, tokens=tokens))
    before = pickle.dumps(allocator)
    assert allocator.admit(_demand(16, tokens=tokens)) is None
    assert allocator.admit(_demand(1, num_sequences=4)) is None
    assert pickle.dumps(allocator) == before


def test_a_prefix_is_shared_by_reference() -> None:
    allocator = _make(enable_prefix_caching=True)
    _run(allocator, [1] * 9)
    admission = _run(allocator, [1] * 8 + [2])
    assert admission.num_cached_tokens == 8
    assert admission.copies is NO_MOVES
    assert allocator.tables.row_ids(1).tolist() == [0, 1, 3]
    assert allocator.pool.references[:4].tolist() == [2, 2, 1, 1]


def test_a_whole_hit_computes_its_last_token_in_a_private_copy() -> None:
    allocator = _make(enable_prefix_caching=True)
    _run(allocator, [1] * 8)
    tokens = np.array([1] * 8, np.int32)
    admission = _admit(allocator, 8, tokens=tokens)
    assert admission.num_cached_tokens == 7
    assert (admission.copies.src.tolist(), admission.copies.dst.tolist()) == ([1], [2])
    assert allocator.tables.row_ids(1).tolist() == [0, 2]


def test_the_source_of_a_copy_is_pinned_until_the_step_has_run() -> None:
    allocator = _make(num_blocks=3, enable_prefix_caching=True)
    allocator.release(_run(allocator, [1] * 8).rows)
    admission = _admit(allocator, 8, tokens=np.array([1] * 8, np.int32))
    source = admission.copies.src
    assert allocator.pool.references[source].tolist() == [1]
    assert allocator.pool.num_available == 0
    allocator.check_integrity()
    assert allocator.usage(None).cached_free == SIZE
    allocator.commit(_rows(), np.zeros((MAX_ROWS, 24), np.int32))
    assert allocator.pool.references[source].tolist() == [0]
    assert allocator.pool.num_evictable == 1


def test_a_whole_hit_without_room_for_the_copy_computes_the_last_block() -> None:
    allocator = _make(num_blocks=2, enable_prefix_caching=True)
    allocator.release(_run(allocator, [1] * 8).rows)
    admission = _run(allocator, [1] * 8)
    assert admission.num_cached_tokens == 4
    assert admission.copies is NO_MOVES


def test_a_pinned_block_does_not_hide_that_others_are_shared() -> None:
    allocator = _make(enable_prefix_caching=True)
    _run(allocator, [1] * 5)
    allocator.release(_run(allocator, [1] * 8).rows)
    _admit(allocator, 8, tokens=np.array([1] * 8, np.int32))
    usage = allocator.usage(None)
    # Row 0 holds 5 tokens; row 1 shares 4 of them and has 3 in its private copy.
    assert (usage.token, usage.cached_free) == (5 + 3, SIZE)


def test_a_fork_shares_all_blocks_and_copies_none() -> None:
    allocator = _make()
    rows = _run(allocator, [1] * 6, num_sequences=3).rows
    assert allocator.fork(0, rows[1:], 6) is NO_MOVES
    assert allocator.pool.references[:2].tolist() == [3, 3]
    assert allocator.tables.num_tokens.tolist() == [6, 6, 6, 0]
    assert allocator.usage(None).token == 6


def test_an_emptied_row_can_be_forked_into() -> None:
    allocator = _make()
    rows = _run(allocator, [1] * 6, num_sequences=3).rows
    allocator.fork(0, rows[1:], 6)
    allocator.grow(rows, _rows(7, 7, 7))
    allocator.empty(rows[1:])
    assert allocator.tables.live_rows().tolist() == [0, 1, 2]
    assert allocator.tables.num_blocks.tolist() == [2, 0, 0, 0]
    allocator.check_integrity()
    allocator.fork(0, rows[1:], 7)
    assert allocator.tables.num_tokens.tolist() == [7, 7, 7, 0]
    allocator.check_integrity()


def test_a_shared_tail_is_copied_by_all_writers_but_the_last() -> None:
    allocator = _make()
    rows = _run(allocator, [1] * 6, num_sequences=3).rows
    allocator.fork(0, rows[1:], 6)
    moves = allocator.grow(rows, _rows(7, 7, 7))
    assert (moves.src.tolist(), moves.dst.tolist()) == ([1, 1], [2, 3])
    assert allocator.tables.ids[:3, :2].tolist() == [[0, 2], [0, 3], [0, 1]]
    assert allocator.grow(rows, _rows(8, 8, 8)) is NO_MOVES


@pytest.mark.parametrize(("num_tokens", "num_needed"), [(7, 2), (9, 5)])
def test_copies_and_growth_together_are_all_or_nothing(num_tokens: int, num_needed: int) -> None:
    allocator = _make(num_blocks=3)
    rows = _run(allocator, [1] * 6, num_sequences=3).rows
    allocator.fork(0, rows[1:], 6)
    before = pickle.dumps(allocator)
    with pytest.raises(OutOfBlocks, match=f"needed {num_needed} blocks, 1 available"):
        allocator.grow(rows, np.full(3, num_tokens))
    assert pickle.dumps(allocator) == before


@pytest.mark.parametrize(
    ("parent", "child", "num_tokens", "error", "text"),
    [
        (0, 1, 7, ConfigError, "cannot share 7 tokens of row 0: expected all 6"),
        (0, 1, 3, ConfigError, "cannot share 3 tokens of row 0: .* or a multiple of 4"),
        (0, 2, 6, ConfigError, "row 2 holds blocks already; release it first"),
        (0, 3, 6, UnknownRow, "row 3 holds no live sequence"),
        (3, 1, 6, UnknownRow, "row 3 holds no live sequence"),
    ],
)
def test_a_fork_that_cannot_be_changes_nothing(
    parent: int, child: int, num_tokens: int, error: type[Exception], text: str
) -> None:
    allocator = _make()
    _run(allocator, [1] * 6, num_sequences=2)
    _run(allocator, [2])
    before = pickle.dumps(allocator)
    with pytest.raises(error, match=text):
        allocator.fork(parent, _rows(child), num_tokens)
    assert pickle.dumps(allocator) == before


def test_release_is_idempotent_and_passes_over_unknown_rows() -> None:
    allocator = _make()
    _run(allocator, [1] * 6)
    allocator.release(_rows(0, 0, 2))
    allocator.release(_rows(0))
    allocator.check_integrity()
    assert allocator.pool.num_free == 10
    assert allocator.tables.num_free_rows == MAX_ROWS


def test_usage_splits_at_the_final_length() -> None:
    allocator = _make()
    _run(allocator, [1] * 6)
    final = np.array([7, 0, 0, 0])
    assert allocator.usage(final).classes() == {
        "token": 6,
        "reserved": 1,
        "internal": 1,
        "granted_unused": 0,
        "rounding": 0,
        "cached_free": 0,
        "free": 32,
    }
    assert allocator.usage(None).granted_unused == 2


def test_integrity_check_sees_a_holder_without_a_reference() -> None:
    allocator = _make()
    _run(allocator, [1] * 6)
    allocator.pool.references[1] += 1
    with pytest.raises(IntegrityError, match=r"blocks \[1\] have \[2\] references and \[1\]"):
        allocator.check_integrity()
