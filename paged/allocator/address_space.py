"""Ranges of consecutive blocks: what a contiguous reservation is cut from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from paged.errors import check
from paged.types import IndexArray


@dataclass(frozen=True, slots=True)
class Span:
    """Blocks [offset, offset + length)."""

    offset: int
    length: int

    @property
    def end(self) -> int:
        """First block behind the span."""
        return self.offset + self.length


class AddressSpace(Protocol):
    """Hands out ranges of the blocks [0, num_blocks). Units: blocks."""

    num_blocks: int

    @property
    def num_free(self) -> int:
        """Blocks in no span."""
        ...

    def max_spans(self, num_blocks: int) -> int:
        """Count the ranges of num_blocks that an empty space holds at once."""
        ...

    def take(self, num_blocks: int) -> Span | None:
        """Hand out a range of at least num_blocks, or None if no hole is big enough.

        Mutates: free space, unless it says None. Raises: IntegrityError below 1 block.
        """
        ...

    def give(self, offset: int) -> None:
        """Take back the span that starts at offset and merge it with free space.

        Raises: IntegrityError if no span in use starts there (nothing is changed).
        """
        ...

    def free_runs(self) -> IndexArray:
        """Sizes of the free pieces; the largest is the largest that `take` can give."""
        ...

    def check_integrity(self) -> None:
        """Raise IntegrityError unless spans and free pieces tile the space."""
        ...


def check_tiling(num_blocks: int, pieces: Iterable[Span]) -> None:
    """Raise IntegrityError unless the pieces cover [0, num_blocks) once each.

    >>> check_tiling(5, [Span(2, 3), Span(0, 2)])
    """
    end = 0
    for piece in sorted(pieces, key=lambda piece: piece.offset):
        check(piece.length >= 1, f"empty piece {piece}")
        check(piece.offset == end, f"{piece} should start at block {end}: overlap or gap")
        end = piece.end
    check(end == num_blocks, f"pieces end at block {end}, the space at {num_blocks}")
