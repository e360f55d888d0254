"""Layouts of the buddy allocator, worked out by hand."""

from __future__ import annotations

import pytest

from paged.allocator.address_space import Span
from paged.allocator.buddy import BuddySpace
from paged.errors import IntegrityError


def test_pool_of_the_paper_holds_seven_of_the_longest() -> None:
    # 15,728 slots in blocks of 16, longest sequence 2,048 tokens: floor(15728 / 2048) = 7.
    space = BuddySpace(983, max_span_blocks=128)
    offsets = [space.take(128) for _ in range(7)]
    assert offsets == [Span(128 * i, 128) for i in range(7)]
    assert space.take(128) is None
    assert space.num_free == 87  # 8.85 % of 983
    assert space.free_runs().tolist() == [1, 2, 4, 16, 64]


def test_longest_span_is_rounded_up_before_the_space_is_cut() -> None:
    # 100 blocks round up to 128, so two such ranges fit in 256 blocks and not 2.56.
    space = BuddySpace(300, max_span_blocks=100)
    assert space.max_spans(100) == 2
    assert space.free_runs().tolist() == [4, 8, 32, 128, 128]


def test_smallest_chunk_that_covers_is_split_low_address_first() -> None:
    space = BuddySpace(24, max_span_blocks=16)  # chunks [0, 16) and [16, 24)
    assert space.take(3) == Span(16, 4)
    assert space.take(3) == Span(20, 4)
    assert space.take(1) == Span(0, 1)
    assert space.free_runs().tolist() == [1, 2, 4, 8]


def test_neighbours_merge_only_with_their_true_buddy() -> None:
    space = BuddySpace(16, max_span_blocks=16)
    assert [space.take(4) for _ in range(4)] == [Span(4 * i, 4) for i in range(4)]
    space.give(4)
    space.give(8)
    assert space.free_runs().tolist() == [4, 4]  # [4, 8) and [8, 12) are no buddies
    assert space.take(8) is None
    space.give(0)
    assert space.free_runs().tolist() == [4, 8]
    space.give(12)
    assert space.free_runs().tolist() == [16]


def test_chunks_never_merge_beyond_the_largest() -> None:
    space = BuddySpace(16, max_span_blocks=8)
    spans = [space.take(8), space.take(8)]
    assert spans == [Span(0, 8), Span(8, 8)]
    space.give(0)
    space.give(8)
    assert space.free_runs().tolist() == [8, 8]
    assert space.take(9) is None
    assert space.max_spans(9) == 0


def test_space_smaller_than_its_longest_span() -> None:
    space = BuddySpace(11, max_span_blocks=128)
    assert space.max_spans(9) == 0
    assert space.take(9) is None
    assert space.take(5) == Span(0, 8)


def test_integrity_check_sees_buddies_that_were_not_merged() -> None:
    space = BuddySpace(8, max_span_blocks=8)
    space._free = [[], [], [0, 4], []]
    with pytest.raises(IntegrityError, match="two free buddies of order 2"):
        space.check_integrity()


def test_integrity_check_sees_a_chunk_out_of_line() -> None:
    space = BuddySpace(6, max_span_blocks=4)
    space._free = [[0, 5], [], [1]]
    with pytest.raises(IntegrityError, match="not aligned"):
        space.check_integrity()


def test_integrity_check_sees_a_lost_chunk() -> None:
    space = BuddySpace(8, max_span_blocks=8)
    assert space.take(2) == Span(0, 2)
    space._order_at.clear()
    with pytest.raises(IntegrityError, match="should start at block 0"):
        space.check_integrity()
