"""Which memory a launch may touch: extents of operands, and the regions they fall into.

Operands whose extents overlap share a region, so that they overlap in the child process too.
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import POINTER, c_int64, cast
from dataclasses import dataclass

import torch

from paged.kernel.backends import runtime_library as runtime
from paged.kernel.launch import Argument, LaunchRequest, Pointer

MAX_COPIED_INPUT_BYTES = 64 * 1024 * 1024
"""Larger inputs are not copied: the child process sees the caller's memory, copy-on-write."""


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
    tensor = pointer.tensor
    begin = tensor.data_ptr()
    if tensor.numel() == 0:
        return Extent(pointer, begin, begin)
    reach = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
    return Extent(pointer, begin, begin + (reach + 1) * tensor.element_size())


@dataclass(frozen=True, slots=True)
class LaunchMemory:
    """The operands of a launch, and the structures that tell the runtime of them.

    Attributes:
        extents: in the order of the request's pointers.
        region_of: for each extent, the index of its region.

    """

    extents: tuple[Extent, ...]
    region_of: tuple[int, ...]
    regions: tuple[runtime.Region, ...]
    operands: tuple[runtime.Operand, ...]

    def structure(self, *, guard: str, poison: int) -> runtime.Memory:
        """Return the structure to hand to the runtime; it keeps its parts alive."""
        return runtime.Memory(
            regions=(runtime.Region * len(self.regions))(*self.regions),
            operands=(runtime.Operand * len(self.operands))(*self.operands),
            num_regions=len(self.regions),
            num_operands=len(self.operands),
            guard_begin=guard == "begin",
            poison=poison,
        )


def launch_memory(request: LaunchRequest) -> LaunchMemory:
    """Return the memory of a launch."""
    extents = tuple(extent_of(pointer) for pointer in request.pointers)
    groups = _groups(extents)
    region_of = [0] * len(extents)
    for number, group in enumerate(groups):
        for index in group:
            region_of[index] = number
    regions = tuple(_region([extents[i] for i in group]) for group in groups)
    operands = tuple(
        _operand(extent, region_of[i], extents, request.arguments)
        for i, extent in enumerate(extents)
    )
    return LaunchMemory(extents, tuple(region_of), regions, operands)


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


def _region(extents: list[Extent]) -> runtime.Region:
    begin = min(extent.begin for extent in extents)
    num_bytes = max(extent.end for extent in extents) - begin
    is_written = any(extent.is_written for extent in extents)
    return runtime.Region(
        caller=begin,
        num_bytes=num_bytes,
        is_written=is_written,
        is_copied=is_written or num_bytes <= MAX_COPIED_INPUT_BYTES,
    )


def _operand(
    extent: Extent, region: int, extents: Sequence[Extent], arguments: Sequence[Argument]
) -> runtime.Operand:
    pointer = extent.pointer
    tensor = pointer.tensor
    num_axes = tensor.dim()
    axes = c_int64 * max(1, num_axes)
    holds_input = any(other.is_read and extent.overlaps(other) for other in extents)
    return runtime.Operand(
        caller=extent.begin,
        slot=arguments[pointer.argument_index].ctypes.data + pointer.offset_bytes,
        region=region,
        is_poisoned=not extent.is_read and not holds_input and _owns_its_memory(tensor),
        element_bytes=tensor.element_size(),
        num_axes=num_axes,
        sizes=cast(axes(*tensor.shape), POINTER(c_int64)),
        strides=cast(axes(*tensor.stride()), POINTER(c_int64)),
    )


def _owns_its_memory(tensor: torch.Tensor) -> bool:
    return tensor.numel() > 0
