"""Kernels, the host's and the reference serve a problem under the names of `use_kernel`."""

from __future__ import annotations

from pathlib import Path

import pytest

from paged.errors import KernelSourceError
from paged.kernel.ops.attention_cases import AttentionCase, make_problem
from paged.kernel.problem import Problem
from paged.kernel.registry import find_op
from paged.kernel.variant import shipped_variants
from paged.replay.contender import contender, sanitized


@pytest.fixture
def problem() -> Problem:
    """Return a small call."""
    call = make_problem(AttentionCase(seq_lens=(5, 9), query_lens=(1, 2)))

    def judge(results: tuple) -> str | None:
        return call.fault(*results)

    return Problem(name="p", operands=call.operands, numbers=call.numbers, judge=judge)


@pytest.mark.parametrize("variant", ["host", "reference", "v1g"])
def test_each_serves(variant: str, problem: Problem) -> None:
    candidate = contender("attention", variant)
    assert candidate.name == variant
    assert problem.judge(candidate.prepare(problem)()) is None


def test_a_file_is_called_by_its_name(tmp_path: Path, problem: Problem) -> None:
    file = tmp_path / "mine.cu"
    file.write_text(shipped_variants(find_op("attention"))["v1g"].read_text())
    candidate = contender("attention", str(file))
    assert candidate.name == "mine.cu"
    assert problem.judge(candidate.prepare(problem)()) is None


def test_names_of_nothing_are_refused() -> None:
    with pytest.raises(KernelSourceError, match="expected a variant of attention"):
        contender("attention", "v77")
    for variant in ("host", "reference"):
        with pytest.raises(
            KernelSourceError, match=f"CUDA kernels can be sanitized, got .*{variant}"
        ):
            sanitized("attention", variant)
