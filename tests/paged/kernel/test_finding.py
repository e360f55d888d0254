"""Findings as data and as text."""

from __future__ import annotations

from dataclasses import replace

from paged.errors import KernelRunError, SanitizerError
from paged.kernel.finding import ADVICE, KINDS, Finding, Place

PLACE = Place(file="mine.cu", line=7, block=(1, 0, 0), thread=(2, 3, 0))
RACE = Finding(kind="shared_race", kernel="mine", message="reads tile", place=PLACE)


def test_every_kind_has_advice() -> None:
    assert list(ADVICE) == list(KINDS)


def test_text_says_what_where_who_and_what_to_do() -> None:
    assert str(RACE) == (
        "shared_race: kernel mine reads tile (mine.cu:7, block (1, 0, 0), thread (2, 3, 0)); "
        "put __syncthreads() between the accesses"
    )
    assert RACE.line == 7


def test_text_tells_the_two_accesses_of_a_conflict_apart() -> None:
    race = replace(RACE, other=replace(PLACE, line=5, thread=(40, 0, 0)))
    assert "reads tile (mine.cu:7, block (1, 0, 0), thread (2, 3, 0); the other: mine.cu:5, " in (
        str(race)
    )


def test_findings_at_the_same_lines_have_one_site() -> None:
    elsewhere = replace(PLACE, block=(5, 0, 0))
    assert replace(RACE, place=elsewhere, message="reads more").site == RACE.site
    for change in ({"operand": "out"}, {"kind": "warp_race"}, {"other": PLACE}):
        assert replace(RACE, **change).site != RACE.site


def test_text_leaves_out_what_is_not_known() -> None:
    nowhere = Finding(kind="crash", kernel="mine", message="went away", place=Place())
    assert str(nowhere) == f"crash: kernel mine went away; {nowhere.advice}"


def test_an_error_holds_its_findings() -> None:
    error = SanitizerError([RACE, RACE])
    assert error.findings == (RACE, RACE)
    assert str(error) == f"{RACE}\n{RACE}"
    assert isinstance(error, KernelRunError)


def test_callers_are_told_behind_the_line() -> None:
    place = replace(PLACE, callers=(("mine.cu", 30), ("other.cuh", 4)))
    assert str(place) == (
        "mine.cu:7, called at mine.cu:30, called at other.cuh:4, block (1, 0, 0), thread (2, 3, 0)"
    )
