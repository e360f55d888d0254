"""Several KV groups: all of them or none, whichever lacks something."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from paged.allocator.base import Admission, Demand
from paged.allocator.grouped import GroupedAllocator
from paged.config import CacheConfig, GroupConfig
from paged.errors import ConfigError, IntegrityError, OutOfBlocks, UnknownRow

SIZE, MAX_MODEL_LEN, MAX_ROWS = 4, 64, 3


def _make(*groups: GroupConfig, has_cache: bool = False) -> GroupedAllocator:
    config = CacheConfig(
        num_blocks=sum(group.num_blocks for group in groups),
        num_host_blocks=sum(group.num_host_blocks for group in groups),
        block_size=SIZE,
        max_model_len=MAX_MODEL_LEN,
        watermark=0.0,
        enable_prefix_caching=has_cache,
        groups=groups,
        max_step_tokens=8,
    )
    return GroupedAllocator(config, max_rows=MAX_ROWS)


def _group(num_blocks: int, window: int | None = None, num_host_blocks: int = 0) -> GroupConfig:
    return GroupConfig(num_blocks=num_blocks, window=window, num_host_blocks=num_host_blocks)


def _rows(*rows: int) -> np.ndarray:
    return np.array(rows, np.int64)


def _demand(tokens: list[int], num_sequences: int = 1) -> Demand:
    return Demand(
        num_tokens=len(tokens),
        max_tokens=MAX_MODEL_LEN,
        tokens=np.array(tokens, np.int32),
        num_sequences=num_sequences,
    )


def _run(allocator: GroupedAllocator, tokens: list[int], num_sequences: int = 1) -> Admission:
    """Admit a prompt and compute it in chunks."""
    admission = allocator.admit(_demand(tokens, num_sequences))
    assert admission is not None
    lead = admission.rows[:1]
    table = np.zeros((MAX_ROWS, MAX_MODEL_LEN), np.int32)
    table[lead, : len(tokens)] = tokens
    for end in [*range(admission.num_cached_tokens + 8, len(tokens), 8), len(tokens)]:
        allocator.grow(lead, _rows(end))
        allocator.commit(lead, table)
        allocator.check_integrity()
    return admission


def _held(allocator: GroupedAllocator) -> list[int]:
    return [group.pool.num_held for group in allocator.groups]


def test_a_window_gives_up_what_another_group_keeps() -> None:
    allocator = _make(_group(8), _group(8, window=8))
    _run(allocator, [1] * 30)
    assert _held(allocator) == [8, 3]
    assert [tables.first_block[0] for tables in allocator.group_tables] == [0, 5]
    first, second = allocator.group_usage(None)
    total = allocator.usage(None)
    assert (first.token, second.token, total.token) == (30, 10, 40)
    assert total.capacity == allocator.capacity_slots == 64


@pytest.mark.parametrize("num_blocks", [(2, 9), (9, 2)])
def test_a_request_that_one_group_lacks_room_for_waits(num_blocks: tuple[int, int]) -> None:
    allocator = _make(*map(_group, num_blocks))
    _run(allocator, [1] * 4)
    before = pickle.dumps(allocator)
    assert allocator.refusal(_demand([2] * 8)) is None
    assert allocator.admit(_demand([2] * 8)) is None
    assert pickle.dumps(allocator) == before
    refusal = allocator.refusal(_demand([2] * 12))
    assert refusal is not None
    assert refusal.startswith("12 tokens need 3 blocks of 4, the pool has 2")


@pytest.mark.parametrize("num_blocks", [(2, 9), (9, 2)])
def test_growth_in_all_groups_or_none(num_blocks: tuple[int, int]) -> None:
    allocator = _make(*map(_group, num_blocks))
    _run(allocator, [1] * 8)
    before = pickle.dumps(allocator)
    with pytest.raises(OutOfBlocks):
        allocator.grow(_rows(0), _rows(9))
    assert pickle.dumps(allocator) == before
    with pytest.raises(ConfigError, match="max_model_len allows"):
        _make(_group(40), _group(40)).grow(_rows(0), _rows(MAX_MODEL_LEN + 1))


def test_a_copy_that_one_group_lacks_room_for_is_made_in_none() -> None:
    allocator = _make(_group(9), _group(2))
    _run(allocator, [1] * 6, num_sequences=2)
    allocator.fork(0, _rows(1), 6)
    rows, num_tokens = _rows(0, 1), _rows(7, 7)
    before = pickle.dumps(allocator)
    with pytest.raises(OutOfBlocks):
        allocator.grow(rows, num_tokens)
    assert pickle.dumps(allocator) == before


def test_a_prefix_is_hit_as_far_as_every_group_has_it() -> None:
    allocator = _make(_group(20), _group(20), has_cache=True)
    tokens = list(range(20))
    _run(allocator, tokens)
    allocator.release(_rows(0))
    second = allocator.groups[1]
    # Its last two blocks are taken for something else.
    second.pool.discard(second.intake.match(_demand(tokens))[3:])
    admission = allocator.admit(_demand(tokens))
    assert admission is not None
    assert admission.num_cached_tokens == 12
    assert _held(allocator) == [5, 5]
    allocator.check_integrity()


def test_a_whole_hit_copies_a_block_of_each_group() -> None:
    allocator = _make(_group(9), _group(9, window=8), has_cache=True)
    tokens = list(range(16))
    allocator.release(_run(allocator, tokens).rows)
    admission = allocator.admit(_demand(tokens))
    assert admission is not None
    assert admission.num_cached_tokens == 15
    for number, tables in enumerate(allocator.group_tables):
        assert admission.copies.of(number).dst.tolist() == [tables.ids[admission.rows[0], 3]]


def test_a_whole_hit_without_room_for_the_copies_computes_the_last_block() -> None:
    allocator = _make(_group(9), _group(4), has_cache=True)
    tokens = list(range(16))
    allocator.release(_run(allocator, tokens).rows)
    admission = allocator.admit(_demand(tokens))
    assert admission is not None
    assert admission.num_cached_tokens == 12
    assert not len(admission.copies)


def test_a_fork_behind_a_window_shares_all_or_nothing() -> None:
    allocator = _make(_group(9), _group(9, window=8))
    _run(allocator, [1] * 22, num_sequences=2)
    before = pickle.dumps(allocator)
    with pytest.raises(ConfigError, match="its window has left its first 3 blocks"):
        allocator.fork(0, _rows(1), 16)
    assert pickle.dumps(allocator) == before
    allocator.fork(0, _rows(1), 22)
    assert _held(allocator) == [6, 3]
    allocator.check_integrity()
    copies = allocator.grow(_rows(0, 1), _rows(23, 23))
    assert [len(copies.of(number)) for number in range(2)] == [1, 1]
    allocator.check_integrity()


@pytest.mark.parametrize("num_host_blocks", [(8, 1), (1, 8)])
def test_a_full_host_pool_of_one_group_keeps_all_groups(num_host_blocks: tuple[int, int]) -> None:
    allocator = _make(*(_group(8, None, count) for count in num_host_blocks))
    _run(allocator, [1] * 8)
    before = pickle.dumps(allocator)
    assert allocator.swap_out(_rows(0)) is None
    assert pickle.dumps(allocator) == before
    with pytest.raises(UnknownRow):
        allocator.swap_out(_rows(1))


@pytest.mark.parametrize("num_blocks", [(4, 9), (9, 4)])
def test_rows_return_to_all_groups_or_none(num_blocks: tuple[int, int]) -> None:
    allocator = _make(*(_group(count, None, 8) for count in num_blocks))
    _run(allocator, [1] * 8)
    out = allocator.swap_out(_rows(0))
    assert out is not None
    assert [len(out.of(number)) for number in range(2)] == [2, 2]
    _run(allocator, [2] * 12)
    before = pickle.dumps(allocator)
    assert allocator.swap_in(_rows(0)) is None
    assert pickle.dumps(allocator) == before
    allocator.release(_rows(1))
    back = allocator.swap_in(_rows(0))
    assert back is not None
    assert [len(back.of(number)) for number in range(2)] == [2, 2]
    allocator.check_integrity()


def test_an_emptied_row_keeps_its_place_in_every_group() -> None:
    allocator = _make(_group(9), _group(9, window=8))
    _run(allocator, [1] * 22, num_sequences=2)
    allocator.empty(_rows(0))
    assert _held(allocator) == [0, 0]
    assert [tables.live_rows().tolist() for tables in allocator.group_tables] == [[0, 1], [0, 1]]
    allocator.check_integrity()


def test_integrity_check_sees_groups_that_fall_out_of_step() -> None:
    allocator = _make(_group(9), _group(9))
    _run(allocator, [1] * 6)
    allocator.groups[1].tables.num_tokens[0] = 5
    with pytest.raises(IntegrityError, match="more tokens in one group"):
        allocator.check_integrity()
    allocator.groups[1].release(_rows(0))
    with pytest.raises(IntegrityError, match="live in one group and not in another"):
        allocator.check_integrity()
