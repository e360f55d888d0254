"""What a sanitized launch shares with its caller lies in the arena where the tables say."""

from __future__ import annotations

import os
from ctypes import sizeof
from pathlib import Path

from paged.kernel.backends.notes import ALIGNMENT_BYTES, Notes
from paged.kernel.backends.structures import Control, Findings, Operand


def test_notes_go_to_the_arena_and_come_back(tmp_path: Path) -> None:
    notes = Notes(defined={"out": bytearray(b"\0\1\1\0")})
    control, operands = Control(), (Operand * 2)()
    end = notes.place(control, operands, ["x", "out"], 100)
    assert control.findings_offset == 2 * ALIGNMENT_BYTES
    assert [operand.has_defined for operand in operands] == [0, 1]
    assert operands[1].defined_offset % ALIGNMENT_BYTES == 0
    assert operands[1].defined_offset >= control.findings_offset + sizeof(Findings)
    assert end == operands[1].defined_offset + 4
    arena = bytearray(end)
    for offset, data in notes.parts():
        arena[offset : offset + len(data)] = data
    assert arena[operands[1].defined_offset :] == b"\0\1\1\0"

    arena[control.findings_offset : control.findings_offset + 8] = bytes(Findings(2, 1))[:8]
    arena[operands[1].defined_offset] = 1
    path = tmp_path / "arena"
    path.write_bytes(arena)
    with path.open("rb") as file:
        notes.read_back(file.fileno())
    assert (notes.findings.num_findings, notes.findings.num_left_out) == (2, 1)
    assert notes.defined["out"] == b"\1\1\1\0"
    assert os.path.getsize(path) == end


def test_a_launch_without_defined_bytes_has_findings_only() -> None:
    notes = Notes(defined={})
    assert notes.place(Control(), (Operand * 1)(), ["x"], 0) == sizeof(Findings)
    assert len(notes.parts()) == 1
