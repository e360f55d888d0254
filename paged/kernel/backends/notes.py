"""What a sanitized launch shares with its caller beside operands: defined bytes, and findings."""

from __future__ import annotations

import os
from collections.abc import Sequence
from ctypes import Array, sizeof
from dataclasses import dataclass, field

from paged.kernel.backends.structures import Control, Findings, Operand

ALIGNMENT_BYTES = 64


@dataclass(slots=True)
class Notes:
    """Findings of one launch, and which bytes of operands are defined. A launch changes both.

    Attributes:
        defined: by operand, a byte for each byte from its first to its last element: 1 where it
            is defined. Operands without are defined throughout.
        processor_s: what the blocks of a launch that did not fail took of the processor.

    """

    defined: dict[str, bytearray]
    findings: Findings = field(default_factory=Findings)
    processor_s: float = 0.0
    _places: dict[str, int] = field(default_factory=dict[str, int])
    _findings_at: int = 0

    def place(
        self, control: Control, operands: Array[Operand], names: Sequence[str], begin: int
    ) -> int:
        """Say in a launch's tables where the notes lie in the arena; return where they end."""
        self._findings_at = _up(begin)
        control.findings_offset = self._findings_at
        at = self._findings_at + sizeof(Findings)
        for row, name in zip(operands, names, strict=True):
            if name not in self.defined:
                continue
            self._places[name] = row.defined_offset = at = _up(at)
            row.has_defined = 1
            at += len(self.defined[name])
        return at

    def parts(self) -> list[tuple[int, bytes]]:
        """Return offsets in the arena and what to put there."""
        placed = [(at, bytes(self.defined[name])) for name, at in self._places.items()]
        return [(self._findings_at, bytes(Findings())), *placed]

    def read_back(self, arena: int) -> None:
        """Take over what a launch has left in the arena, a file's descriptor."""
        data = os.pread(arena, sizeof(Findings), self._findings_at)
        self.findings = Findings.from_buffer_copy(data)
        for name, at in self._places.items():
            self.defined[name][:] = os.pread(arena, len(self.defined[name]), at)


def _up(value: int) -> int:
    return -(-value // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
