"""Which memory a launch may touch: extents of operands, and the spans they fall into.

Operands whose extents overlap share a span, so that they overlap in a child process too.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

from paged.kernel.backends.structures import MAX_AXES, Operand
from paged.kernel.launch import LaunchRequest, Pointer
from paged.kernel.memory import spanned_bytes


@dataclass(frozen=True, slots=True)
class Extent:
    """Bytes from the first to the last element of an operand: [begin, end)."""

    pointer: Pointer
    begin: int
    end: int

    @property
    def is_read(self) -> bool:
        """Whether the kernel is given the contents."""
        return self.pointer.intent in ("in", "inout")

    @property
    def is_written(self) -> bool:
        """Whether the kernel may write."""
        return self.pointer.intent != "in"

    def overlaps(self, other: Extent) -> bool:
        """Return whether both extents hold some byte."""
        return self.begin < other.end and other.begin < self.end


def extent_of(pointer: Pointer) -> Extent:
    """Return the extent of an operand's tensor."""
    begin = pointer.tensor.data_ptr()
    return Extent(pointer, begin, begin + spanned_bytes(pointer.tensor))


@dataclass(frozen=True, slots=True)
class Span:
    """Memory of one or more overlapping operands: [begin, end) of the caller's."""

    begin: int
    end: int
    is_written: bool

    @property
    def num_bytes(self) -> int:
        """Length."""
        return self.end - self.begin


@dataclass(frozen=True, slots=True)
class LaunchMemory:
    """The memory of a launch.

    Attributes:
        extents: in the order of the request's pointers.
        spans: disjoint, in the order of their addresses.
        span_of: for each extent, the index of its span.

    """

    extents: tuple[Extent, ...]
    spans: tuple[Span, ...]
    span_of: tuple[int, ...]

    def operands(self) -> ctypes.Array[Operand]:
        """Return the table that the runtime is given, with addresses relative to the spans."""
        table = (Operand * len(self.extents))()
        for row, extent, span in zip(table, self.extents, self.span_of, strict=True):
            _fill(row, extent, self.extents)
            row.region = span
            row.address = extent.begin - self.spans[span].begin
        return table


def launch_memory(request: LaunchRequest) -> LaunchMemory:
    """Return the memory of a launch."""
    extents = tuple(extent_of(pointer) for pointer in request.pointers)
    groups = _groups(extents)
    span_of = [0] * len(extents)
    for number, group in enumerate(groups):
        for index in group:
            span_of[index] = number
    spans = tuple(_span([extents[i] for i in group]) for group in groups)
    return LaunchMemory(extents, spans, tuple(span_of))


def _groups(extents: Sequence[Extent]) -> list[list[int]]:
    """Return indices of extents, overlapping ones together."""
    groups: list[list[int]] = []
    end = -1
    for index in sorted(range(len(extents)), key=lambda i: (extents[i].begin, extents[i].end)):
        extent = extents[index]
        if groups and extent.begin < end:
            groups[-1].append(index)
        else:
            groups.append([index])
        end = max(end, extent.end)
    return groups


def _span(extents: list[Extent]) -> Span:
    return Span(
        begin=min(extent.begin for extent in extents),
        end=max(extent.end for extent in extents),
        is_written=any(extent.is_written for extent in extents),
    )


def _fill(row: Operand, extent: Extent, extents: Sequence[Extent]) -> None:
    pointer = extent.pointer
    tensor = pointer.tensor
    holds_input = any(other.is_read and extent.overlaps(other) for other in extents)
    num_axes = tensor.dim() if tensor.dim() <= MAX_AXES else 0
    starts_undefined = not extent.is_read and not holds_input and tensor.numel() > 0
    row.argument = pointer.argument_index
    row.argument_offset = pointer.offset_bytes
    row.is_poisoned = starts_undefined and tensor.dim() <= MAX_AXES
    row.is_written = extent.is_written
    row.element_bytes = tensor.element_size()
    row.num_bytes = extent.end - extent.begin
    row.origin = extent.begin
    row.num_axes = num_axes
    row.sizes[:num_axes] = tensor.shape[:num_axes]
    row.strides[:num_axes] = tensor.stride()[:num_axes]
