"""Reports of failures become sentences that name operands and distances."""

from __future__ import annotations

import signal

import pytest
import torch

from paged.kernel.backends.access_text import AccessText
from paged.kernel.backends.failure_text import (
    FAULT,
    MESSAGE,
    OVERFLOW,
    STOPPED,
    STRAY_WRITE,
    WRITE,
    Failure,
    failure_text,
)
from paged.kernel.backends.launch_memory import LaunchMemory, launch_memory
from paged.kernel.backends.structures import Report
from paged.kernel.launch import LaunchRequest, Pointer

MAPPED = (1 << 40, 1 << 41)


@pytest.fixture
def memory() -> LaunchMemory:
    """Two operands: `first` of 10 floats, `second` of 4 longs, in spans of their own."""
    tensors = {"first": torch.zeros(10), "second": torch.zeros(4, dtype=torch.int64)}
    pointers = tuple(
        Pointer(operand=name, tensor=t, intent="in", argument_index=i, offset_bytes=0)
        for i, (name, t) in enumerate(tensors.items())
    )
    request = LaunchRequest(
        entry="k", grid=(1, 1, 1), block=(1, 1, 1), shared_bytes=0, arguments=(), pointers=pointers
    )
    return launch_memory(request)


def begin_of(memory: LaunchMemory, index: int) -> int:
    return MAPPED[memory.span_of[index]]


def text_of(report: Report, memory: LaunchMemory, *places: tuple[str, int]) -> str:
    failure = Failure(report=report, mapped=MAPPED, death="")
    return failure_text("k", failure, access_text(memory), places, 2.0)


def access_text(memory: LaunchMemory) -> AccessText:
    return AccessText(memory=memory, mapped=MAPPED, left_out=(), poison=0xFF)


def fault(address: int, *, write: bool = False) -> Report:
    return Report(
        failure=FAULT,
        signal=signal.SIGSEGV,
        access=WRITE if write else 1,
        address=address,
        has_address=1,
        has_lane=1,
        block=(1, 2, 3),
        thread=(4, 5, 6),
    )


def test_a_fault_past_the_end(memory: LaunchMemory) -> None:
    text = text_of(fault(begin_of(memory, 0) + 48), memory, ("a.cu", 7))
    assert text == (
        "kernel k: read from 8 bytes (2 elements) past the end of operand 'first', which has 40 "
        "bytes (at a.cu:7, block (1, 2, 3), thread (4, 5, 6))"
    )


def test_a_fault_in_a_function_tells_its_callers(memory: LaunchMemory) -> None:
    text = text_of(fault(begin_of(memory, 0) + 48), memory, ("a.cuh", 7), ("a.cu", 30))
    assert text.endswith("(at a.cuh:7, called at a.cu:30, block (1, 2, 3), thread (4, 5, 6))")


def test_a_fault_before_the_start(memory: LaunchMemory) -> None:
    text = text_of(fault(begin_of(memory, 1) - 9, write=True), memory)
    assert "wrote to 9 bytes (2 elements) before the start of operand 'second'" in text
    assert "at " not in text.partition("(")[0]


def test_a_write_inside_an_input(memory: LaunchMemory) -> None:
    text = text_of(fault(begin_of(memory, 1) + 17, write=True), memory)
    assert "wrote to operand 'second', 17 bytes from its start (element 2 in memory)" in text


@pytest.mark.parametrize(
    ("address", "expected"),
    [(0x10, "read from a null pointer (address 0x10)"), (1 << 45, "which belongs to no operand")],
)
def test_a_fault_far_from_every_operand(memory: LaunchMemory, address: int, expected: str) -> None:
    assert expected in text_of(fault(address), memory)


def test_an_address_that_cannot_be(memory: LaunchMemory) -> None:
    report = fault(0)
    report.has_address = 0
    assert "an address that no memory can have" in text_of(report, memory)


@pytest.mark.parametrize(
    ("number", "expected"),
    [(signal.SIGFPE, "integer division by zero"), (signal.SIGILL, "an illegal instruction")],
)
def test_other_signals(memory: LaunchMemory, number: int, expected: str) -> None:
    assert expected in text_of(Report(failure=FAULT, signal=number), memory)


def test_other_failures(memory: LaunchMemory) -> None:
    overflow = text_of(Report(failure=OVERFLOW), memory)
    assert "stack overflow" in overflow
    stopped = text_of(Report(failure=STOPPED, text=b"  thread: running\n"), memory)
    assert "did not end within 2 s" in stopped
    assert stopped.endswith("\n  thread: running")
    message = text_of(Report(failure=MESSAGE, text=b"what\nmore\n"), memory, ("a.cu", 1))
    assert message == "kernel k: what (at a.cu:1, block (0, 0, 0))\nmore"


def test_a_stray_write_has_no_thread(memory: LaunchMemory) -> None:
    report = fault(begin_of(memory, 0) + 40, write=True)
    report.failure, report.signal, report.has_lane = STRAY_WRITE, 0, 0
    text = text_of(report, memory)
    assert text.endswith("past the end of operand 'first', which has 40 bytes")


def test_without_a_report_the_death_is_told(memory: LaunchMemory) -> None:
    failure = Failure(report=None, mapped=(), death="ended by SIGKILL")
    text = failure_text("k", failure, access_text(memory), (), 1.0)
    assert text == "kernel k: ended by SIGKILL"


def test_an_operand_that_vector_loads_cannot_begin_at_is_named() -> None:
    tensors = {"none": torch.zeros(5)[1:1], "aligned": torch.zeros(8), "odd": torch.zeros(8)[2:]}
    pointers = tuple(
        Pointer(operand=name, tensor=t, intent="in", argument_index=i, offset_bytes=0)
        for i, (name, t) in enumerate(tensors.items())
    )
    request = LaunchRequest(
        entry="k", grid=(1, 1, 1), block=(1, 1, 1), shared_bytes=0, arguments=(), pointers=pointers
    )
    text = text_of(Report(failure=FAULT, signal=signal.SIGILL), launch_memory(request))
    assert "; operand 'odd' begins 8 bytes past a multiple of 16: pass a clone() of it" in text
    assert "odd" not in text_of(Report(failure=FAULT, signal=signal.SIGFPE), launch_memory(request))
