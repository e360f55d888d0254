"""A replay in words: all together, and the worst."""

from __future__ import annotations

from paged.kernel.measure.timing import Timing
from paged.kernel.traffic import OperandTraffic, Traffic
from paged.replay.replay import StepOutcome, Times
from paged.replay.report import Report


def times(kernel_s: float, other_s: float) -> Times:
    return Times(
        kernel=Timing(rounds_s=(kernel_s,), clock="host"),
        other=Timing(rounds_s=(other_s,), clock="host"),
    )


OUTCOMES = (
    StepOutcome(step=0, text="step 0: a", error=0.1, difference=0.3, times=times(1.0, 2.0)),
    StepOutcome(step=1, text="step 1: b", error=0.2, difference=0.0, is_equal=True),
    StepOutcome(step=2, text="step 2: c", error=0.0, difference=0.1, times=times(3e-3, 1e-3)),
)


def test_totals_and_the_worst_are_told() -> None:
    lines = Report(kernel="k", other="o", outcomes=OUTCOMES).lines()
    assert lines == [
        "k: right in all 3 calls, by the reference",
        "  largest error 0.2, in step 1: b",
        "  equal to o in 1 of 3 calls, bit for bit",
        "  largest difference to o 0.3, in step 0: a",
        "  time in all 1 s, o 2 s: 0.501 times as long",
        "  worst 3 times as long (3000 us), in step 2: c",
    ]


def test_no_error_is_of_no_step() -> None:
    exact = StepOutcome(step=0, text="step 0: a", error=0.0)
    assert Report(kernel="k", other=None, outcomes=[exact]).lines() == [
        "k: right in all 1 calls, by the reference"
    ]


def test_equal_in_all_steps_is_all_there_is_to_say_of_the_difference() -> None:
    lines = Report(kernel="k", other="o", outcomes=[OUTCOMES[1]]).lines()
    assert lines[2:] == ["  equal to o in all 1 calls, bit for bit"]


def test_bytes_are_told_in_all_and_at_worst() -> None:
    outcomes = [
        StepOutcome(step=0, text=f"step {n}", traffic=Traffic(operands=(moved,), least_bytes=least))
        for n, (moved, least) in enumerate(((operand("x", 320), 320), (operand("x", 96), 32)))
    ]
    lines = Report(kernel="k", other=None, outcomes=outcomes).lines()
    assert lines[1:] == ["  moves 1.18 times the least bytes in all, at worst 3 times, in step 1"]


def operand(name: str, num_bytes: int) -> OperandTraffic:
    return OperandTraffic(
        operand=name,
        num_reads=1,
        num_writes=0,
        read_bytes=num_bytes,
        write_bytes=0,
        read_sector_bytes=num_bytes,
        write_sector_bytes=0,
        least_bytes=None,
    )


def test_faults_and_what_is_not_served_are_told() -> None:
    outcomes = (
        StepOutcome(step=4, text="step 4: d", fault="it crashed\nand burned"),
        StepOutcome(step=5, text="step 5: e", why_not="no type"),
        OUTCOMES[1],
    )
    report = Report(kernel="k", other=None, outcomes=outcomes)
    assert report.faults == [outcomes[0]]
    assert report.lines()[:4] == [
        "k: wrong in 1 of 2 calls",
        "  WRONG  step 4: d: it crashed",
        "         and burned",
        "  1 calls not served: step 5: e: no type",
    ]


def test_rows_are_plain() -> None:
    row = Report(kernel="k", other="o", outcomes=OUTCOMES).rows()[2]
    assert row["step"] == 2
    assert (row["kernel_s"], row["other_s"], row["is_equal"]) == (3e-3, 1e-3, False)
