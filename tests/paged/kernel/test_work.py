"""The least work of a call."""

from __future__ import annotations

from paged.kernel.work import Work


def test_operands_add_up() -> None:
    work = Work.of({"x": 30, "y": 12}, flops=7)
    assert work == Work(bytes=42, flops=7)
    assert work.operands == {"x": 30, "y": 12}


def test_a_whole_alone_says_nothing_of_operands() -> None:
    assert Work(bytes=42, flops=0).operands is None
