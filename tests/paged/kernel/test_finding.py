"""Findings as data and as text."""

from __future__ import annotations

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


def test_text_leaves_out_what_is_not_known() -> None:
    nowhere = Finding(kind="crash", kernel="mine", message="went away", place=Place())
    assert str(nowhere) == "crash: kernel mine went away; see the message"


def test_an_error_holds_its_findings() -> None:
    error = SanitizerError([RACE, RACE])
    assert error.findings == (RACE, RACE)
    assert str(error) == f"{RACE}\n{RACE}"
    assert isinstance(error, KernelRunError)
