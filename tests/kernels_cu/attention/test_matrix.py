"""Attention v0, v1, v1g and v2 against float64: every pair of choices, in the interpreter."""

from __future__ import annotations

import pytest

from paged.kernel.ops.attention import OP
from paged.kernel.ops.attention_cases import make_problem
from paged.kernel.variant import find_variant
from tests.helpers.attention_matrix import BUILDS, Build, matrix, run

NAMES = ("v0", "v1", "v1g", "v2")


# all variants in one test, for the references take longer than the kernels
@pytest.mark.parametrize("build", BUILDS, ids=str)
def test_the_matrix(build: Build) -> None:
    specs = {name: find_variant(OP, name).spec for name in NAMES}
    faults: list[str] = []
    for case in matrix()[build]:
        problem = make_problem(case)
        for name, spec in specs.items():
            fault = problem.fault(*run(spec, problem))
            if fault is not None:
                faults.append(f"{name}, {case}: {fault}")
    assert not faults, "\n".join(faults)
