"""Layouts of first fit and best fit, worked out by hand."""

from __future__ import annotations

import pytest

from paged.allocator.address_space import Span
from paged.allocator.fit import BestFitSpace, FirstFitSpace
from paged.errors import IntegrityError

Space = FirstFitSpace | BestFitSpace


def _with_holes(space: Space) -> Space:
    """Leave holes [0, 5), [7, 10), [12, 15) and [17, 20) in 20 blocks."""
    spans = [space.take(size) for size in (5, 2, 3, 2, 3, 2)]
    assert [span.offset for span in spans if span] == [0, 5, 7, 10, 12, 15]
    for offset in (0, 7, 12):
        space.give(offset)
    assert space.free_runs().tolist() == [5, 3, 3, 3]
    return space


def test_first_fit_takes_the_lowest_hole() -> None:
    space = _with_holes(FirstFitSpace(20))
    assert space.take(3) == Span(0, 3)
    assert space.take(3) == Span(7, 3)
    assert space.free_runs().tolist() == [2, 3, 3]


def test_best_fit_takes_the_smallest_hole_and_of_equals_the_lowest() -> None:
    space = _with_holes(BestFitSpace(20))
    assert space.take(3) == Span(7, 3)
    assert space.take(2) == Span(12, 2)
    assert space.take(1) == Span(14, 1)
    assert space.free_runs().tolist() == [5, 3]


@pytest.mark.parametrize("kind", [FirstFitSpace, BestFitSpace])
def test_no_hole_is_big_enough_though_the_blocks_are_there(kind: type[Space]) -> None:
    space = _with_holes(kind(20))
    assert space.num_free == 14
    assert space.take(6) is None
    assert space.num_free == 14


@pytest.mark.parametrize("kind", [FirstFitSpace, BestFitSpace])
def test_given_span_merges_on_both_sides(kind: type[Space]) -> None:
    space = _with_holes(kind(20))
    space.give(5)
    assert space.free_runs().tolist() == [10, 3, 3]
    space.give(15)
    assert space.free_runs().tolist() == [10, 8]
    space.give(10)
    assert space.free_runs().tolist() == [20]


@pytest.mark.parametrize("kind", [FirstFitSpace, BestFitSpace])
def test_full_space_has_no_hole(kind: type[Space]) -> None:
    space = kind(4)
    assert space.take(4) == Span(0, 4)
    assert space.free_runs().tolist() == []
    assert space.take(1) is None
    space.check_integrity()


def test_integrity_check_sees_holes_that_were_not_merged() -> None:
    space = FirstFitSpace(6)
    space._holes = [Span(0, 2), Span(2, 4)]
    with pytest.raises(IntegrityError, match="unmerged"):
        space.check_integrity()


def test_integrity_check_sees_a_lost_span() -> None:
    space = FirstFitSpace(6)
    assert space.take(2) == Span(0, 2)
    space._length_at.clear()
    with pytest.raises(IntegrityError, match="should start at block 0"):
        space.check_integrity()
