"""Which of several faults is told, and what the runtime's messages are called."""

from __future__ import annotations

import pytest

from paged.kernel.backends import finding_reader
from paged.kernel.backends.finding_reader import explains, found_of, placed, without_effects
from paged.kernel.backends.structures import Findings
from paged.kernel.finding import Finding, Kind, Place


def finding(kind: Kind, line: int, other: int | None = None) -> Finding:
    """Return a finding at a line, in conflict with an access at another."""
    return Finding(
        kind=kind,
        kernel="k",
        message="",
        place=Place(file="k.cu", line=line),
        other=None if other is None else Place(file="k.cu", line=other),
    )


def test_a_race_explains_reads_of_undefined_memory_at_its_lines() -> None:
    race = finding("shared_race", 5, 4)
    early, elsewhere = finding("uninitialized_shared", 5), finding("uninitialized_shared", 6)
    assert without_effects([early, race, elsewhere]) == (race, elsewhere)


def test_a_copy_that_is_not_waited_for_explains_races_with_it() -> None:
    copy = finding("copy_not_waited", 5, 3)
    race, other = finding("warp_race", 5, 3), finding("warp_race", 5, 9)
    assert without_effects([race, copy, other]) == (copy, other)


def test_a_fault_is_told_once_at_its_lines() -> None:
    race, again, other = (finding("shared_race", 5, line) for line in (4, 4, 3))
    assert without_effects([race, other, again]) == (race, other)


def test_an_access_out_of_bounds_explains_the_fault_it_ends_in() -> None:
    fault = finding("out_of_bounds", 0)
    assert explains([finding("write_to_input", 3)], fault)
    assert not explains([finding("shared_race", 3)], fault)
    assert not explains([finding("out_of_bounds", 3)], finding("deadlock", 3))


def test_only_what_was_found_is_read() -> None:
    findings = Findings(num_findings=2)
    assert len(found_of(findings)) == 2


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("divergent barrier: 3 threads wait", "divergent_barrier"),
        ("barrier that not all threads reach", "divergent_barrier"),
        ("divergent collective: lane 3", "divergent_collective"),
        ("deadlock: no thread", "deadlock"),
        ("waits for another block: all", "waits_for_block"),
        ("the thread ended with 2 asynchronous", "copy_never_waited"),
        ("ldmatrix from a misaligned row", "misaligned"),
        ("index 4 is outside of an array of type 'float [4]'", "out_of_bounds"),
        ("misaligned access: address 0x4 of a", "misaligned"),
        ("assertion `a` failed in f", "assertion"),
        ("__trap() was called", "assertion"),
        ("something else", "crash"),
    ],
)
def test_messages_have_kinds(text: str, kind: str) -> None:
    assert finding_reader.kind_of_message(text) == kind


@pytest.mark.parametrize(
    ("mangled", "name"),
    [
        ("_ZZ5wrongE4tile", "tile"),
        ("_ZZ4gemmILi32EEviPK6__halffE6a_tile", "a_tile"),
        ("_ZZN5paged6attendILi4EEvvE4room_0", "room"),
        ("_ZL4tile", "tile"),
        ("tile", "tile"),
    ],
)
def test_shared_variables_have_their_names(mangled: str, name: str) -> None:
    assert finding_reader.plain_name(mangled) == name


def test_an_element_has_an_index_and_a_gap_has_none() -> None:
    assert finding_reader.index_of(7, (3, 2), (3, 1)) == (2, 1)
    assert finding_reader.index_of(5, (3, 2), (3, 1)) is None
    assert finding_reader.index_of(4, (2, 4), (1, 2)) == (0, 2)
    assert finding_reader.index_of(0, (), ()) == ()


def test_a_place_has_the_innermost_line_and_those_it_was_called_at() -> None:
    lines = (("k.cu", 3), ("k.cu", 9), ("h.cuh", 1))
    place = placed(lines, block=None, thread=(1, 0, 0))
    assert (place.file, place.line, place.thread) == ("k.cu", 3, (1, 0, 0))
    assert place.callers == (("k.cu", 9), ("h.cuh", 1))
    assert placed((), block=(0, 0, 0), thread=None) == Place(block=(0, 0, 0))
