"""Attention v0, v1, v1g, v2 and host against float64: every pair of choices, on a CPU."""

from __future__ import annotations

import pytest

from paged.kernel.backends.host import HostConfig
from paged.kernel.backends.host_level import cpu_levels
from paged.kernel.ops.attention import OP
from paged.kernel.ops.attention_cases import make_problem
from paged.kernel.variant import find_variant
from tests.helpers.attention_matrix import BUILDS, Build, matrix, run, run_on_host

NAMES = ("v0", "v1", "v1g", "v2")


# all variants in one test, for the references take longer than the kernels
@pytest.mark.parametrize("build", BUILDS, ids=str)
def test_the_matrix(build: Build) -> None:
    specs = {name: find_variant(OP, name).spec for name in NAMES}
    hosts = {f"host {level.name}": HostConfig(level=level.name) for level in cpu_levels()}
    faults: list[str] = []
    for case in matrix()[build]:
        problem = make_problem(case)
        results = {name: run(spec, problem) for name, spec in specs.items()}
        results |= {name: run_on_host(problem, config) for name, config in hosts.items()}
        for name, result in results.items():
            fault = problem.fault(*result)
            if fault is not None:
                faults.append(f"{name}, {case}: {fault}")
    assert not faults, "\n".join(faults)
