"""A finding is told with the source that it is about."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paged.cli.kernels.finding_lines import lines_of
from paged.kernel.finding import Finding, Place

RACE = Finding(
    kind="shared_race",
    kernel="sum",
    message="reads byte 0 of total",
    place=Place(file="sum.cu", line=2, block=(0, 0, 0), thread=(1, 0, 0)),
    other=Place(file="sum.cu", line=1, block=(0, 0, 0), thread=(0, 0, 0)),
)


def test_both_places_are_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sum.cu").write_text("  total = 1;\n  y[0] = total;\n")
    here = replace(RACE.place, file=str(tmp_path / "sum.cu"))
    assert list(lines_of(replace(RACE, place=here))) == [
        "shared_race: sum reads byte 0 of total",
        "  at sum.cu:2, block (0, 0, 0), thread (1, 0, 0)",
        "       2 | y[0] = total;",
        "  the other at sum.cu:1, block (0, 0, 0), thread (0, 0, 0)",
        "       1 | total = 1;",
        "  -> put __syncthreads() between the accesses",
    ]


@pytest.mark.parametrize("file", ["missing.cu", "short.cu", "."])
def test_a_line_that_cannot_be_read_is_named_alone(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("short.cu").write_text("")
    finding = replace(RACE, place=Place(file=file, line=2), other=None)
    assert list(lines_of(finding))[1:-1] == [f"  at {file}:2"]


def test_a_fault_of_no_place_has_its_words() -> None:
    finding = replace(RACE, kind="timeout", place=Place(), other=None)
    assert len(list(lines_of(finding))) == 2


def test_callers_and_more_lines_of_a_message_stand_below(tmp_path: Path) -> None:
    file = tmp_path / "sum.cu"
    file.write_text("first\n  second\nthird\n")
    place = Place(file=str(file), line=2, callers=((str(file), 3),), thread=(1, 0, 0))
    finding = replace(RACE, kind="deadlock", message="waits:\nthread 1\nthread 2", place=place)
    assert list(lines_of(replace(finding, other=None)))[:-1] == [
        "deadlock: sum waits:",
        "  thread 1",
        "  thread 2",
        f"  at {file}:2, thread (1, 0, 0)",
        "       2 | second",
        f"  called at {file}:3",
        "       3 | third",
    ]
