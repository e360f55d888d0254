"""What the addresses of a planned call tell of its memory: sound, or to be looked at closely."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch

from paged.kernel.memory import spanned_bytes
from paged.kernel.spec import KernelSpec


@dataclass(frozen=True, slots=True)
class _Neighbours:
    """A tensor that is written and another one, each with its bytes from first to last."""

    written: int
    written_bytes: int
    other: int
    other_bytes: int

    def may_overlap(self, addresses: Sequence[int]) -> bool:
        distance_bytes = addresses[self.other] - addresses[self.written]
        return -self.other_bytes < distance_bytes < self.written_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressCheck:
    """Doubts that cost a call next to nothing; `check_memory` settles them.

    Attributes:
        filled: indices of the tensors that hold elements.
        neighbours: pairs of tensors that must not overlap.
        alignments: indices of tensors with what their addresses must be multiples of, in bytes.

    """

    filled: tuple[int, ...]
    neighbours: tuple[_Neighbours, ...]
    alignments: tuple[tuple[int, int], ...]

    def is_doubtful(self, addresses: Sequence[int]) -> bool:
        """Return whether memory may be missing, misaligned, or shared with a written tensor."""
        if 0 in addresses and not all([addresses[i] for i in self.filled]):
            return True
        for i, alignment_bytes in self.alignments:
            if addresses[i] % alignment_bytes:
                return True
        for pair in self.neighbours:  # noqa: SIM110 (a generator costs more than all of this)
            if pair.may_overlap(addresses):
                return True
        return False


def address_check(spec: KernelSpec, tensors: Mapping[str, torch.Tensor]) -> AddressCheck:
    """Return the check for calls with tensors like these, by operand, in the order of addresses."""
    alignments_bytes = {operand.name: operand.alignment_bytes for operand in spec.operands}
    return AddressCheck(
        filled=tuple(i for i, tensor in enumerate(tensors.values()) if tensor.numel()),
        neighbours=tuple(_neighbours(spec, tensors)),
        alignments=tuple(
            (i, alignments_bytes[name])
            for i, name in enumerate(tensors)
            if alignments_bytes[name] > 1
        ),
    )


def _neighbours(spec: KernelSpec, tensors: Mapping[str, torch.Tensor]) -> Iterator[_Neighbours]:
    written = {operand.name for operand in spec.operands if operand.intent == "inout"}
    given = {operand.name for operand in spec.given}
    sizes_bytes = [spanned_bytes(tensor) for tensor in tensors.values()]
    filled = [(i, name) for i, name in enumerate(tensors) if name in given and sizes_bytes[i]]
    for i, name in filled:
        for j, other in filled:
            # two that are written make one pair
            if name in written and (j > i or (j != i and other not in written)):
                yield _Neighbours(i, sizes_bytes[i], j, sizes_bytes[j])
