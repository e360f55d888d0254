"""Every address space against a bitmap of its blocks."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from paged.allocator.address_space import AddressSpace, Span, check_tiling
from paged.allocator.buddy import BuddySpace
from paged.allocator.fit import BestFitSpace, FirstFitSpace
from paged.errors import IntegrityError

MAX_SPAN_BLOCKS = 12
Bitmap = list[bool]


def _pow2(num_blocks: int) -> int:
    power = 1
    while power < num_blocks:
        power *= 2
    return power


def _free_chunks(is_used: Bitmap, start: int, size: int) -> list[Span]:
    """Largest wholly free halves of halves of an aligned chunk."""
    if not any(is_used[start : start + size]):
        return [Span(start, size)]
    if size == 1:
        return []
    half = size // 2
    return _free_chunks(is_used, start, half) + _free_chunks(is_used, start + half, half)


def _buddy_pieces(is_used: Bitmap) -> list[Span]:
    pieces, start, size = [], 0, _pow2(MAX_SPAN_BLOCKS)
    while size >= 1:
        if len(is_used) - start >= size:
            pieces += _free_chunks(is_used, start, size)
            start += size
        else:
            size //= 2
    return pieces


def _holes(is_used: Bitmap) -> list[Span]:
    edges = np.flatnonzero(np.diff([True, *is_used, True])).tolist()
    return [Span(start, end - start) for start, end in zip(edges[::2], edges[1::2], strict=True)]


@dataclass(frozen=True)
class Oracle:
    """What a space should do, worked out from the bitmap alone."""

    make: Callable[[int], AddressSpace]
    pieces: Callable[[Bitmap], list[Span]]
    preference: Callable[[Span], tuple[int, int]]
    length: Callable[[int], int]


ORACLES = {
    "buddy": Oracle(
        make=lambda n: BuddySpace(n, max_span_blocks=MAX_SPAN_BLOCKS),
        pieces=_buddy_pieces,
        preference=lambda piece: (piece.length, piece.offset),
        length=_pow2,
    ),
    "first-fit": Oracle(
        make=FirstFitSpace,
        pieces=_holes,
        preference=lambda piece: (piece.offset, 0),
        length=lambda n: n,
    ),
    "best-fit": Oracle(
        make=BestFitSpace,
        pieces=_holes,
        preference=lambda piece: (piece.length, piece.offset),
        length=lambda n: n,
    ),
}


class SpaceMachine(RuleBasedStateMachine):
    """Random takes and gives."""

    oracle: ClassVar[Oracle]

    @initialize(num_blocks=st.integers(1, 90))
    def start(self, num_blocks: int) -> None:
        self.space = self.oracle.make(num_blocks)
        self.is_used = [False] * num_blocks
        self.spans: list[Span] = []

    @rule(num_blocks=st.integers(1, MAX_SPAN_BLOCKS + 8))
    def take(self, num_blocks: int) -> None:
        length = self.oracle.length(num_blocks)
        pieces = [p for p in self.oracle.pieces(self.is_used) if p.length >= length]
        if not pieces:
            assert self.space.take(num_blocks) is None
            return
        span = Span(min(pieces, key=self.oracle.preference).offset, length)
        assert self.space.take(num_blocks) == span
        assert not any(self.is_used[span.offset : span.end])
        self.is_used[span.offset : span.end] = [True] * length
        self.spans.append(span)

    @precondition(lambda self: self.spans)
    @rule(data=st.data())
    def give(self, data: st.DataObject) -> None:
        span = self.spans.pop(data.draw(st.integers(0, len(self.spans) - 1)))
        self.space.give(span.offset)
        self.is_used[span.offset : span.end] = [False] * span.length

    @rule(offset=st.integers(0, 100))
    def give_what_is_not_taken(self, offset: int) -> None:
        if offset not in {span.offset for span in self.spans}:
            before = pickle.dumps(self.space)
            with pytest.raises(IntegrityError, match="no span in use"):
                self.space.give(offset)
            assert pickle.dumps(self.space) == before

    @invariant()
    def agrees_with_bitmap(self) -> None:
        self.space.check_integrity()
        assert self.space.num_free == self.is_used.count(False)
        lengths = sorted(piece.length for piece in self.oracle.pieces(self.is_used))
        assert sorted(self.space.free_runs().tolist()) == lengths


@pytest.mark.parametrize("name", ORACLES)
def test_random_use_agrees_with_a_bitmap(name: str) -> None:
    run_state_machine_as_test(
        type(f"SpaceMachine[{name}]", (SpaceMachine,), {"oracle": ORACLES[name]}),
        settings=settings(
            max_examples=30,
            stateful_step_count=40,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )


@pytest.mark.parametrize("name", ORACLES)
@settings(max_examples=40)
@given(num_blocks=st.integers(1, 90), length=st.integers(1, 30))
def test_max_spans_is_what_an_empty_space_holds(name: str, num_blocks: int, length: int) -> None:
    space = ORACLES[name].make(num_blocks)
    count = space.max_spans(length)
    spans = [space.take(length) for _ in range(count + 1)]
    assert spans.pop() is None
    assert None not in spans


@pytest.mark.parametrize("name", ORACLES)
def test_everything_given_back_is_one_empty_space_again(name: str) -> None:
    space = ORACLES[name].make(53)
    initial = space.free_runs().tolist()
    sizes = np.random.default_rng(0).integers(1, 9, 40).tolist()
    spans = [span for size in sizes if (span := space.take(size)) is not None]
    for index in np.random.default_rng(1).permutation(len(spans)):
        space.give(spans[index].offset)
    assert space.free_runs().tolist() == initial
    assert space.num_free == 53


@pytest.mark.parametrize("name", ORACLES)
def test_a_span_has_at_least_one_block(name: str) -> None:
    space = ORACLES[name].make(8)
    with pytest.raises(IntegrityError, match="at least 1 block, got 0"):
        space.take(0)
    space.check_integrity()
    assert space.num_free == 8


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        ([Span(0, 2), Span(3, 2)], "should start at block 2"),
        ([Span(0, 3), Span(2, 3)], "should start at block 3"),
        ([Span(0, 4)], "pieces end at block 4, the space at 5"),
        ([Span(0, 4), Span(4, 0), Span(4, 1)], "empty piece"),
        ([Span(0, 6)], "pieces end at block 6"),
    ],
)
def test_pieces_that_do_not_tile_are_named(pieces: list[Span], message: str) -> None:
    with pytest.raises(IntegrityError, match=message):
        check_tiling(5, pieces)
