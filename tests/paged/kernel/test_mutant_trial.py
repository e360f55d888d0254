"""A few mutants of shipped kernels, and the table of how mutants fared."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from paged.kernel.mutant_survivors import SURVIVORS
from paged.kernel.mutant_trial import (
    SUBJECTS,
    WRONG_RESULT,
    Subject,
    Trial,
    kill_table,
    sample,
    try_mutant,
    try_mutants,
)
from paged.kernel.mutation import Mutant, mutants_of
from paged.kernel.spec import INCLUDE_DIR

MUTANT = Mutant(
    what="index", path=Path("k.cu"), line=1, code="x[i];", before="i", after="(i) + 1", text=""
)


def planted(variant: str, file: str, what: str, before: str) -> tuple[Subject, Mutant]:
    """Return the first mutant of a shipped file with this fault."""
    subject = next(s for s in SUBJECTS if s.variant == variant and file in s.files)
    path = INCLUDE_DIR.parent / file
    found = (m for m in mutants_of(path, path.read_text()) if (m.what, m.before) == (what, before))
    return subject, next(found)


@pytest.mark.parametrize(
    ("variant", "file", "what", "before", "found"),
    [
        ("v0", "attention/v0.cu", "barrier", "__syncwarp();", "warp_race"),
        ("v0", "attention/v0.cu", "guard", "seen.begin <= key && key < seen.end", "unlisted_slot"),
        ("v0", "attention/v0.cu", "initialisation", "float sum = 0.0f;", WRONG_RESULT),
        ("vector", "cache/write_kv_vector.cu", "guard", "return;", "out_of_bounds"),
    ],
)
def test_a_planted_fault_is_found(
    variant: str, file: str, what: str, before: str, found: str
) -> None:
    assert try_mutant(*planted(variant, file, what, before)).found == found


def test_what_is_no_program_is_told_apart() -> None:
    subject, mutant = planted("vector", "include/gather.cuh", "bound", "<")
    broken = replace(mutant, text="this is no header")
    (trial,) = try_mutants([(subject, broken)], num_workers=1)
    assert not trial.is_program
    assert trial.outcome == "refused"


def test_what_is_known_to_survive_is_a_mutant_of_a_shipped_kernel() -> None:
    mutants = {(m.path.name, m.code, m.before) for _, m in sample(1000)}
    known = {(one.file, one.code, before) for one in SURVIVORS for before in one.befores}
    assert known <= mutants


def test_a_sample_has_as_many_of_each_class_or_all_there_are() -> None:
    counts = Counter(mutant.what for _, mutant in sample(16))
    assert counts["index"] == counts["bound"] == counts["guard"] == 16
    assert 1 <= counts["wait"] < 16
    assert counts["fence"] == 0
    assert counts.total() >= 60
    files = {mutant.path.name for _, mutant in sample(16) if mutant.what == "index"}
    assert len(files) >= 8


def test_the_table_counts_by_class_what_was_found_and_by_what() -> None:
    trials = [
        Trial(mutant=MUTANT, subject=SUBJECTS[0], found="out_of_bounds"),
        Trial(mutant=MUTANT, subject=SUBJECTS[0], found=WRONG_RESULT),
        Trial(mutant=replace(MUTANT, what="wait"), subject=SUBJECTS[0]),
        Trial(mutant=MUTANT, subject=SUBJECTS[0], is_program=False),
    ]
    rows = {line.split()[0]: line.split()[1:] for line in kill_table(trials)}
    assert rows["index"] == ["2", "1", "1", "0", "100%"]
    assert rows["wait"] == ["1", "0", "0", "1", "0%"]
    assert rows["barrier"] == ["0"]
    assert rows["all"] == ["3", "1", "1", "1", "67%"]
    known = SURVIVORS[0]
    assert not known.is_fault
    same = replace(MUTANT, path=Path(known.file), code=known.code, before=known.befores[0])
    harmless = Trial(mutant=same, subject=SUBJECTS[0])
    assert harmless.outcome == "harmless"
    assert kill_table([*trials, harmless]) == kill_table(trials)
    assert [trial.outcome for trial in trials[1:]] == [WRONG_RESULT, "SURVIVED", "refused"]
