"""Faults that are planted in a text: one each, where code and not comments or declarations are."""

from __future__ import annotations

from pathlib import Path

import pytest

from paged.kernel.mutant_trial import SUBJECTS
from paged.kernel.mutation import MUTANT_CLASSES, mutants_of
from paged.kernel.spec import INCLUDE_DIR

PATH = Path("k.cu")


def changes(text: str) -> list[tuple[str, int, str, str]]:
    """Return class, line, before and after of each mutant of a text."""
    return [(m.what, m.line, m.before, m.after) for m in mutants_of(PATH, text)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("__syncthreads();", [("barrier", "__syncthreads();", "")]),
        ("__syncwarp();", [("barrier", "__syncwarp();", "")]),
        ("cp_async_wait<0>();", [("wait", "cp_async_wait<0>();", "")]),
        ("paged::cp_async_commit();", [("wait", "cp_async_commit();", "")]),
        ("__threadfence();", [("fence", "__threadfence();", "")]),
        ("if (i == n) return;", [("guard", "return;", ";")]),
        ("if (i >= n) continue;", [("guard", "continue;", ";"), ("bound", ">=", ">")]),
        ("if (i < n) f();", [("guard", "i < n", "true"), ("bound", "<", "<=")]),
        ("for (int i = 0; i < n; ++i) f();", [("bound", "<", "<=")]),
        ("x = table[i + j];", [("index", "i + j", "(i + j) + 1")]),
        ("float sum = 0.0f;", [("initialisation", "float sum = 0.0f;", "float sum;")]),
        ("sums[i] = 0.0f;", [("index", "i", "(i) + 1"), ("initialisation", "sums[i] = 0.0f;", "")]),
        ("float sums[kRows] = {};", []),
        ("x = table[3];", []),
        ("float sums[kRows];", []),
        ("__shared__ float tile[kRows];", []),
        ("// __syncthreads(); table[i]", []),
        ('f("__syncthreads();");', []),
    ],
)
def test_a_line_and_its_faults(line: str, expected: list[tuple[str, str, str]]) -> None:
    assert changes(f"\n{line}\n") == [(what, 2, before, after) for what, before, after in expected]


def test_a_mutant_differs_in_its_place_alone() -> None:
    text = "a();\n__syncthreads();\nb();\n"
    (mutant,) = mutants_of(PATH, text)
    assert mutant.text == "a();\n\nb();\n"
    assert str(mutant) == "barrier: k.cu:2: `__syncthreads();` -> `nothing`"


def test_the_shipped_kernels_have_mutants_of_every_class_but_fences() -> None:
    paths = [INCLUDE_DIR.parent / file for subject in SUBJECTS for file in subject.files]
    found = [mutant.what for path in paths for mutant in mutants_of(path, path.read_text())]
    assert set(found) == set(MUTANT_CLASSES) - {"fence"}
    assert len(found) >= 60
