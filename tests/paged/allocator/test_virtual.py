"""Pages mapped on demand: layouts, reclamation and slot classes worked out by hand."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from paged.allocator.base import Demand
from paged.allocator.virtual import VirtualAllocator
from paged.config import CacheConfig
from paged.errors import ConfigError, IntegrityError, OutOfBlocks


def _make(
    num_pages: int, *, num_tail_blocks: int = 0, watermark: float = 0.0, max_rows: int = 4
) -> VirtualAllocator:
    """Pages of 8 slots: 2 blocks of 4. Ranges of 36 tokens: 9 blocks, 5 pages."""
    config = CacheConfig(
        num_blocks=2 * num_pages + num_tail_blocks,
        block_size=4,
        max_model_len=36,
        watermark=watermark,
        blocks_per_page=2,
    )
    return VirtualAllocator(config, max_rows=max_rows)


def _admit(allocator: VirtualAllocator, num_tokens: int) -> int:
    admission = allocator.admit(Demand(num_tokens=num_tokens, max_tokens=36))
    assert admission is not None
    return int(admission.rows[0])


def _grow(allocator: VirtualAllocator, row: int, num_tokens: int) -> None:
    allocator.grow(np.array([row]), np.array([num_tokens]))
    allocator.check_integrity()


def _release(allocator: VirtualAllocator, row: int) -> None:
    allocator.release(np.array([row]))
    allocator.check_integrity()


def _table(allocator: VirtualAllocator, row: int) -> list[int]:
    return allocator.tables.row_ids(row).tolist()


def test_blocks_of_a_page_are_consecutive() -> None:
    allocator = _make(10)
    first, second = _admit(allocator, 9), _admit(allocator, 8)
    assert _table(allocator, first) == [0, 1, 2, 3]
    assert _table(allocator, second) == [4, 5]
    _grow(allocator, first, 16)
    assert allocator.num_pages_mapped == 3
    _grow(allocator, first, 17)
    assert _table(allocator, first) == [0, 1, 2, 3, 6, 7]
    assert allocator.num_pages_mapped == 4


def test_growth_of_several_rows_maps_for_those_that_need_it() -> None:
    allocator = _make(10)
    rows = np.array([_admit(allocator, 8), _admit(allocator, 3), _admit(allocator, 8)])
    allocator.grow(rows, np.array([9, 4, 20]))
    assert [_table(allocator, row) for row in rows.tolist()] == [
        [0, 1, 6, 7],
        [2, 3],
        [4, 5, 8, 9, 10, 11],
    ]
    assert allocator.tables.num_tokens[rows].tolist() == [9, 4, 20]


def test_last_page_may_reach_beyond_the_longest_sequence() -> None:
    allocator = _make(5)
    row = _admit(allocator, 36)
    assert _table(allocator, row) == list(range(9))
    usage = allocator.usage(np.full(4, 36))
    assert (usage.reserved, usage.internal, usage.free) == (36, 4, 0)


def test_blocks_behind_the_last_whole_page_stay_free() -> None:
    allocator = _make(2, num_tail_blocks=1)
    row = _admit(allocator, 16)
    assert _table(allocator, row) == [0, 1, 2, 3]
    usage = allocator.usage(None)
    assert (usage.granted_unused, usage.free) == (16, 4)
    with pytest.raises(OutOfBlocks):
        _grow(allocator, row, 17)


def test_slot_classes_with_kept_pages() -> None:
    allocator = _make(10)
    gone, live = _admit(allocator, 20), _admit(allocator, 5)
    _grow(allocator, live, 5)
    _release(allocator, gone)
    usage = allocator.usage(np.full(4, 7))
    assert usage.classes() == {
        "token": 5,
        "reserved": 2,
        "internal": 1,
        "granted_unused": 0,
        "rounding": 0,
        "cached_free": 24,
        "free": 48,
    }


def test_next_row_uses_the_pages_its_slot_kept() -> None:
    allocator = _make(10)
    row = _admit(allocator, 20)
    _release(allocator, row)
    again = _admit(allocator, 9)
    assert again == row
    assert _table(allocator, again) == [0, 1, 2, 3]
    assert allocator.num_pages_mapped == 3
    assert allocator.usage(None).cached_free == 8  # the third page is still mapped
    _grow(allocator, again, 25)  # and is the next to be used
    assert _table(allocator, again) == [0, 1, 2, 3, 4, 5, 6, 7]
    assert allocator.num_pages_mapped == 4


@pytest.mark.parametrize(("num_tokens", "index"), [(5, 2), (14, 1), (24, 0), (36, 0)])
def test_slot_that_keeps_most_of_the_need_and_least_beyond_is_taken(
    num_tokens: int, index: int
) -> None:
    allocator = _make(10)
    rows = [_admit(allocator, size) for size in (24, 16, 8)]
    allocator.release(np.array(rows))
    assert _admit(allocator, num_tokens) == rows[index]
    allocator.check_integrity()


def test_pages_are_reclaimed_from_the_slot_used_longest_ago_tail_first() -> None:
    allocator = _make(6)
    old, young = _admit(allocator, 24), _admit(allocator, 16)
    live = _admit(allocator, 8)
    _release(allocator, old)
    _release(allocator, young)
    _grow(allocator, live, 9)
    assert _table(allocator, live) == [10, 11, 4, 5]  # page 2, the last of `old`
    _grow(allocator, live, 32)
    assert _table(allocator, live)[4:] == [2, 3, 0, 1]
    assert allocator.usage(None).cached_free == 16  # those of `young`
    assert allocator.num_pages_mapped == 9


def test_tail_a_live_row_does_not_need_yet_can_be_reclaimed() -> None:
    allocator = _make(3)
    row = _admit(allocator, 24)
    _release(allocator, row)
    assert _admit(allocator, 4) == row
    other = _admit(allocator, 10)
    assert _table(allocator, other) == [4, 5, 2, 3]
    with pytest.raises(OutOfBlocks):
        _grow(allocator, row, 9)


def test_no_more_than_the_tail_is_reclaimed_from_a_live_row() -> None:
    allocator = _make(8)
    first, other, last = (_admit(allocator, size) for size in (24, 16, 8))
    _release(allocator, first)
    assert _admit(allocator, 16) == first  # pages 0 and 1, the slot keeps page 2
    _release(allocator, other)
    _grow(allocator, last, 36)  # 4 more: the 2 free ones, page 2, and one of `other`
    assert _table(allocator, first) == [0, 1, 2, 3]
    assert allocator.usage(None).cached_free == 8


def test_slot_released_again_is_the_one_used_last() -> None:
    allocator = _make(6)
    first, other, live = (_admit(allocator, size) for size in (24, 16, 8))
    _release(allocator, first)
    assert _admit(allocator, 16) == first
    _release(allocator, other)
    _release(allocator, first)
    _grow(allocator, live, 24)
    assert sorted(_table(allocator, live)[2:]) == [6, 7, 8, 9]  # both pages of `other`


def test_out_of_blocks_leaves_everything_as_it_was() -> None:
    allocator = _make(5)
    kept, first, second = (_admit(allocator, 8) for _ in range(3))
    _release(allocator, kept)
    rows = np.array([first, second])
    allocator.grow(rows, np.array([8, 8]))
    before = pickle.dumps(allocator)
    with pytest.raises(OutOfBlocks) as raised:
        allocator.grow(rows, np.array([9, 32]))
    assert (raised.value.num_needed, raised.value.num_available) == (8, 6)
    assert pickle.dumps(allocator) == before
    allocator.grow(rows, np.array([9, 24]))
    allocator.check_integrity()
    assert allocator.usage(None).free == allocator.usage(None).cached_free == 0


def test_range_ends_at_max_model_len() -> None:
    allocator = _make(10)
    row = _admit(allocator, 8)
    before = pickle.dumps(allocator)
    with pytest.raises(ConfigError, match="row 0 asks for 37 tokens, max_model_len allows 36"):
        _grow(allocator, row, 37)
    assert pickle.dumps(allocator) == before


def test_admission_leaves_watermark_and_headroom_unless_nothing_runs() -> None:
    allocator = _make(5, watermark=0.21)  # 1.05 pages, kept whole: 2
    group = Demand(num_tokens=9, max_tokens=16, num_sequences=2)
    admission = allocator.admit(group)  # 4 of 5 pages: allowed, for nothing runs
    assert admission is not None
    allocator.release(admission.rows)
    row = _admit(allocator, 8)
    assert allocator.admit(Demand(num_tokens=17, max_tokens=20)) is None  # would leave 1
    one_page = Demand(num_tokens=16, max_tokens=16, headroom_blocks=1)
    assert allocator.admit(one_page) is None  # would leave 2, wants 2 + 1
    _admit(allocator, 16)
    _release(allocator, row)


def test_waiting_sequences_get_their_pages_at_once() -> None:
    allocator = _make(6)
    admission = allocator.admit(Demand(num_tokens=9, max_tokens=16, num_sequences=3))
    assert admission is not None
    parent, *children = admission.rows.tolist()
    _grow(allocator, parent, 9)
    assert allocator.num_spare_pages == 0
    moves = allocator.fork(parent, np.array(children), 9)
    allocator.check_integrity()
    assert moves.src.tolist() == [0, 1, 2, 0, 1, 2]
    assert moves.dst.tolist() == [4, 5, 6, 8, 9, 10]


@pytest.mark.parametrize(
    ("demand", "message"),
    [
        (Demand(num_tokens=37, max_tokens=40), "37 tokens exceed max_model_len, 36"),
        (Demand(num_tokens=33, max_tokens=36), "1 x 33 tokens need 5 pages of 8 slots, the pool"),
        (Demand(num_tokens=20, max_tokens=30, num_sequences=2), "2 x 20 tokens need 6 pages"),
    ],
)
def test_what_can_never_fit_is_refused(demand: Demand, message: str) -> None:
    allocator = _make(4, num_tail_blocks=1)
    assert str(allocator.refusal(demand)).startswith(message)
    assert allocator.admit(demand) is None


def test_row_that_runs_alone_can_have_the_whole_pool() -> None:
    allocator = _make(5)
    # Leave pages with every slot first, so that all must be reclaimed.
    rows = [_admit(allocator, 8) for _ in range(4)]
    allocator.release(np.array(rows))
    row = _admit(allocator, 1)
    _grow(allocator, row, 36)
    assert allocator.num_spare_pages == 0


@pytest.mark.parametrize(
    ("corrupt", "message"),
    [
        (lambda a: a._free_pages.pop(), "a page is lost"),
        (lambda a: a._keepers.clear(), "record of kept pages"),
        (lambda a: a.tables.ids.__setitem__((1, 0), 19), "table of row 1 is not its pages"),
        (lambda a: a._granted_slots.__setitem__(1, 4), "granted slots of row 1"),
        (lambda a: setattr(a, "_num_granted_pages", 7), "granted pages miscounted"),
    ],
)
def test_integrity_check_sees(corrupt, message: str) -> None:
    allocator = _make(10)
    gone, live = _admit(allocator, 9), _admit(allocator, 9)
    assert live == 1
    _release(allocator, gone)
    corrupt(allocator)
    with pytest.raises(IntegrityError, match=message):
        allocator.check_integrity()
