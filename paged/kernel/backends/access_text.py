"""What an access was meant for that no memory of the launch is there for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from paged.kernel.backends.launch_memory import LaunchMemory

NULL_PAGE_BYTES = 65536
NEAR_BYTES = 1 << 34
"""Unreadable memory on both sides of each operand's: a nearer address was meant for the operand."""
FAR_BYTES = 1 << 30
"""Beyond it, an index of another operand with large steps may have led there."""
ADDRESS_BITS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessText:
    """Names what is around an address, for the message of a failed launch.

    Attributes:
        mapped: where each span of the launch's memory lay for the kernel.
        left_out: names of the operands without memory.
        poison: the byte that undefined memory holds.

    """

    memory: LaunchMemory
    mapped: Sequence[int]
    left_out: Sequence[str]
    poison: int

    def of_address(self, address: int) -> str:
        """Return what lies at an address that was accessed, to go after a verb."""
        past_null = _nearer_to_null(address)
        if abs(past_null) <= NEAR_BYTES:
            return self._null(address, past_null)
        nearest = min(
            (self._distance(i, address) for i in range(len(self.memory.extents))), default=None
        )
        if nearest is not None and nearest[0] == 0:
            return nearest[1]
        hint = self._poison_hint(address)
        if nearest is not None and nearest[0] <= FAR_BYTES:
            return nearest[1] + hint
        if nearest is None or nearest[0] > NEAR_BYTES:
            return f"address {address:#x}, which belongs to no operand{hint}"
        return nearest[1] + (hint or "; an index of another operand may have led so far, too")

    def _null(self, address: int, past_null: int) -> str:
        if 0 <= past_null < NULL_PAGE_BYTES:
            where = f"a null pointer (address {address:#x})"
        else:
            side = "past" if past_null > 0 else "before"
            where = f"{abs(past_null)} bytes {side} a null pointer (address {address:#x})"
        if not self.left_out:
            return f"{where}; was an optional operand left out?"
        return f"{where}; left out of this call: {', '.join(map(repr, self.left_out))}"

    def _poison_hint(self, address: int) -> str:
        """Return a text where undefined memory, taken for an index, leads to an address."""
        for index in range(len(self.memory.extents)):
            for axis, value in self._poisoned_indices(index, address):
                name = self.memory.extents[index].pointer.operand
                return (
                    f"; index {value} on axis {axis} of operand {name!r} leads there, which is "
                    f"what undefined memory reads as: was the index never written?"
                )
        return ""

    def _poisoned_indices(self, index: int, address: int) -> Iterator[tuple[int, int]]:
        tensor = self.memory.extents[index].pointer.tensor
        begin, _ = self._bounds(index)
        element_bytes = tensor.element_size()
        steps = [stride * element_bytes for stride in tensor.stride()]
        reach = sum((n - 1) * step for n, step in zip(tensor.shape, steps, strict=True))
        for axis, (size, step) in enumerate(zip(tensor.shape, steps, strict=True)):
            others = reach - (size - 1) * step + element_bytes
            for value in _undefined_integers(self.poison):
                inside = (address - begin - value * step) % (1 << ADDRESS_BITS)
                # the element before the first is more often an index that is one too low
                if inside < others and abs(value * step) > element_bytes:
                    yield axis, value

    def _bounds(self, index: int) -> tuple[int, int]:
        """Return where an operand begins and ends for the kernel."""
        extent, span = self.memory.extents[index], self.memory.span_of[index]
        begin = self.mapped[span] + extent.begin - self.memory.spans[span].begin
        return begin, begin + extent.end - extent.begin

    def _distance(self, index: int, address: int) -> tuple[int, str]:
        """Return how far outside of an operand an address lies, in bytes, and a text."""
        pointer = self.memory.extents[index].pointer
        begin, end = self._bounds(index)
        element_bytes = pointer.tensor.element_size()
        of_operand = f"of operand {pointer.operand!r}, which has {end - begin} bytes"
        if begin <= address < end:
            element = (address - begin) // element_bytes
            return 0, (
                f"operand {pointer.operand!r}, {address - begin} bytes from its start (element "
                f"{element} in memory), which is declared {pointer.intent!r}"
            )
        if address >= end:
            # The first byte behind it is 0 elements past its last one's end.
            past = address - end
            elements = past // element_bytes
            if elements == 0:
                return past + 1, f"the first element past the end {of_operand}"
            return past + 1, f"{past} bytes ({elements} elements) past the end {of_operand}"
        before = begin - address
        elements = -(-before // element_bytes)
        return before, f"{before} bytes ({elements} elements) before the start {of_operand}"


def _nearer_to_null(address: int) -> int:
    """Return an address as a distance from null, on either side."""
    return address - (1 << ADDRESS_BITS) if address >> (ADDRESS_BITS - 1) else address


def _undefined_integers(poison: int) -> list[int]:
    """Return what poison reads as, as integers of 32 and 64 bits with and without a sign."""
    words = (int.from_bytes(bytes([poison] * size), "little") for size in (4, 8))
    narrow, wide = words
    signed = [v - (1 << bits) if v >> (bits - 1) else v for v, bits in ((narrow, 32), (wide, 64))]
    return list(dict.fromkeys((signed[0], narrow, signed[1])))
