"""A kernel that fails is an error of its call: it says what, where and who, and changes nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
import torch

from paged.errors import KernelRunError
from paged.kernel.backends.interpret import InterpretConfig
from tests.helpers.interpreted import given, launch, marked_line, program, updated

FILE = "failures.cu"
NUM_ELEMENTS = 100


@dataclass(frozen=True, slots=True)
class Operands:
    """An input and an output whose contents must survive a failure."""

    source: torch.Tensor
    target: torch.Tensor


@pytest.fixture
def operands() -> Operands:
    return Operands(torch.arange(float(NUM_ELEMENTS)), torch.full((NUM_ELEMENTS,), 7.0))


def fails(
    entry: str, operands: Operands, config: InterpretConfig | None = None, **numbers: int
) -> str:
    """Launch two blocks, and return the error's text once all else has been checked."""
    with pytest.raises(KernelRunError) as caught:
        launch(
            program(FILE, config),
            entry,
            **{"grid": 2, "source": given(operands.source), "target": updated(operands.target)}
            | numbers,
        )
    assert torch.equal(operands.source, torch.arange(float(NUM_ELEMENTS)))
    assert torch.equal(operands.target, torch.full((NUM_ELEMENTS,), 7.0))
    text = str(caught.value)
    assert text.startswith(f"kernel {entry}: ")
    return text


def at_line(text: str, mark: str) -> bool:
    return f"{FILE}:{marked_line(FILE, mark)}," in text


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (100, "the first element past the end of operand 'source', which has 400 bytes"),
        (103, "12 bytes (3 elements) past the end of operand 'source'"),
        (5_000, "19600 bytes (4900 elements) past the end of operand 'source'"),
        (-2_000, "8000 bytes (2000 elements) before the start of operand 'source'"),
    ],
)
def test_reading_outside_an_input_names_it_and_the_distance(
    operands: Operands, index: int, expected: str
) -> None:
    text = fails("read_at", operands, index=index)
    assert f"read from {expected}" in text
    assert at_line(text, "read_at")
    assert "block (1, 0, 0), thread (3, 0, 0)" in text


def test_reading_just_before_an_input_is_seen_with_the_guard_at_its_begin(
    operands: Operands,
) -> None:
    text = fails("read_at", operands, InterpretConfig(guard="begin"), index=-1)
    assert "read from 4 bytes (1 elements) before the start of operand 'source'" in text
    assert at_line(text, "read_at")


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (100, "the first element past the end of operand 'target', which has 400 bytes"),
        (-2_000, "8000 bytes (2000 elements) before the start of operand 'target'"),
    ],
)
def test_writing_outside_an_output_names_it_and_the_distance(
    operands: Operands, index: int, expected: str
) -> None:
    text = fails("write_at", operands, index=index)
    assert f"wrote to {expected}" in text
    assert at_line(text, "write_at")


@pytest.mark.parametrize(
    ("guard", "offset", "expected"),
    [
        ("end", -1, "1 bytes (1 elements) before the start of operand 'target'"),
        ("begin", 400, "the first element past the end of operand 'target'"),
    ],
)
def test_writing_beside_an_operand_on_its_own_page_is_found_afterwards(
    operands: Operands, guard: str, offset: int, expected: str
) -> None:
    config = InterpretConfig(guard="begin" if guard == "begin" else "end")
    text = fails("nudge", operands, config, offset=offset)
    assert expected in text


@pytest.mark.parametrize(
    ("high", "low", "expected"),
    [
        (0, 1 << 20, f"{(1 << 22) - 400} bytes ({(1 << 20) - 100} elements) past the end"),
        (1, -1, f"{(1 << 33) - 404} bytes ({(1 << 31) - 101} elements) past the end"),
        (2, -1, f"{(1 << 34) - 404} bytes ({(1 << 32) - 101} elements) past the end"),
        (0, -(1 << 20), f"{1 << 22} bytes ({1 << 20} elements) before the start"),
        (-1, 0, f"{1 << 33} bytes ({1 << 31} elements) before the start"),
    ],
)
def test_no_index_of_32_bits_reaches_other_memory(
    operands: Operands, high: int, low: int, expected: str
) -> None:
    text = fails("reach_far", operands, high=high, low=low)
    assert f"read from {expected} of operand 'source'" in text


def test_of_two_operands_the_nearer_is_named(operands: Operands) -> None:
    other = torch.zeros(10, dtype=torch.float64)
    with pytest.raises(KernelRunError, match=r"16 bytes \(2 elements\) past the end of .*'other'"):
        launch(
            program(FILE),
            "update_at",
            grid=2,
            both=updated(operands.source),
            other=updated(other),
            index=12,
        )
    assert torch.equal(operands.source, torch.arange(float(NUM_ELEMENTS)))
    assert not other.any()


def test_writing_to_an_input_is_an_error_in_the_function_that_does(operands: Operands) -> None:
    text = fails("write_to_input", operands)
    assert "wrote to operand 'source', 0 bytes from its start (element 0 in memory)" in text
    assert "declared 'in'" in text
    assert at_line(text, "write_to_input")


@pytest.mark.parametrize(
    ("entry", "numbers", "expected"),
    [
        ("division_by_zero", {"divisor": 0}, "integer division by zero"),
        ("null_pointer", {"address": 0}, "read from a null pointer \\(address 0x14\\)"),
        ("trap", {}, r"__trap\(\) was called"),
        ("assertion", {}, "assertion `in\\[threadIdx.x\\] < 5.0f` failed in assertion"),
    ],
)
def test_a_fault_is_told_with_its_line(
    operands: Operands, entry: str, numbers: dict[str, int], expected: str
) -> None:
    text = fails(entry, operands, None, **numbers)
    assert re.search(expected, text)
    assert at_line(text, entry)


def test_the_thread_of_an_assertion_is_told(operands: Operands) -> None:
    text = fails("assertion", operands, InterpretConfig(num_workers=1))
    assert "block (0, 0, 0), thread (5, 0, 0)" in text


def test_a_stack_overflow_is_told_as_one(operands: Operands) -> None:
    assert "stack overflow" in fails("stack_overflow", operands)


def test_an_endless_loop_is_ended_and_located(operands: Operands) -> None:
    text = fails("endless", operands, InterpretConfig(timeout_s=0.5))
    assert "did not end within 0.5 s" in text
    assert "thread (5, 0, 0)" in text
    assert f"{FILE}:{marked_line(FILE, 'endless')}" in text


def test_a_wait_that_nobody_ends_is_ended() -> None:
    flag = torch.zeros(2, dtype=torch.int32)
    with pytest.raises(KernelRunError, match=r"did not end within 0\.5 s"):
        launch(
            program(FILE, InterpretConfig(timeout_s=0.5)),
            "endless_wait",
            source=given(torch.ones(1)),
            flag=updated(flag),
        )
    assert not flag.any()


def test_a_kernel_that_ends_its_process_has_not_succeeded(operands: Operands) -> None:
    assert "the kernel ended its process, with exit status 0" in fails("leave", operands, way=5)


@pytest.mark.parametrize(
    ("way", "call"),
    [(0, "exit(0)"), (1, "quick_exit(1)"), (2, "_exit(2)"), (3, "_Exit(3)"), (4, "abort()")],
)
def test_a_function_that_would_end_the_process_is_an_error(
    operands: Operands, way: int, call: str
) -> None:
    text = fails("leave", operands, way=way)
    assert f"the kernel called {call}; return from it instead, or call __trap()" in text
    assert at_line(text, "exit") == (way == 0)
    assert "block (0, 0, 0), thread" in text


def test_blocks_that_fail_at_one_time_leave_one_whole_report(operands: Operands) -> None:
    expected = "kernel assertion: assertion `in[threadIdx.x] < 5.0f` failed in assertion"
    for _ in range(100):
        assert fails("assertion", operands, grid=64).startswith(expected)


def test_an_exit_beside_blocks_at_work_is_told_as_one_every_time(operands: Operands) -> None:
    texts = {fails("leave", operands, way=0, grid=64).partition(" (")[0] for _ in range(20)}
    assert len(texts) == 1
    assert "the kernel called exit(0)" in texts.pop()


def test_writing_past_dynamic_shared_memory_is_found(operands: Operands) -> None:
    with pytest.raises(KernelRunError, match="the block wrote 8 bytes past the end of its 64 byte"):
        launch(
            program(FILE),
            "past_dynamic_shared",
            shared_bytes=64,
            source=given(operands.source),
            target=updated(operands.target),
            index=17,
        )


def test_what_was_printed_before_a_failure_is_kept(
    operands: Operands, capsys: pytest.CaptureFixture[str]
) -> None:
    fails("print_and_trap", operands, InterpretConfig(num_workers=1))
    assert capsys.readouterr().out == "before\n"


@pytest.mark.parametrize("entry", ["assertion", "trap"])
def test_without_isolation_what_the_kernel_checks_is_still_told(
    operands: Operands, entry: str
) -> None:
    config = InterpretConfig(isolate=False)
    with pytest.raises(KernelRunError) as caught:
        launch(
            program(FILE, config),
            entry,
            source=given(operands.source),
            target=updated(operands.target),
        )
    assert at_line(str(caught.value), entry)
    launch(
        program(FILE, config),
        "read_at",
        source=given(operands.source),
        target=updated(operands.target),
        index=0,
    )
