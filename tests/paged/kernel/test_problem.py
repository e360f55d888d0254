"""Problems: right kernels pass them, and a judgement sees one wrong element."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from paged.kernel import InterpretConfig
from paged.kernel.ops.problems import problems_of, why_unserved
from paged.kernel.problem import bits, results_of, same_bits, try_kernel
from paged.kernel.registry import OP_NAMES, find_op, run_reference
from paged.kernel.variant import find_variant


@pytest.mark.parametrize("name", OP_NAMES)
def test_the_reference_passes_and_one_wrong_element_fails(name: str) -> None:
    op = find_op(name)
    for problem in problems_of(op):
        operands = [None if t is None else t.clone() for t in problem.operands]
        outputs = run_reference(op, operands, problem.numbers)
        results = results_of(op.signature, operands, outputs)
        assert problem.judge(results) is None, problem.name
        first = results[0]
        if first.numel() == 0:
            continue
        spoilt = first.clone(memory_format=torch.contiguous_format)
        spoilt.view(-1)[spoilt.numel() // 2] = 100
        assert problem.judge((spoilt, *results[1:])) is not None, problem.name


def test_a_kernel_is_tried_on_copies() -> None:
    op = find_op("copy_blocks")
    problem = next(problems_of(op))
    before = [None if t is None else t.clone() for t in problem.operands]
    verdict = try_kernel(
        find_variant(op, "simple").spec,
        problem,
        device=torch.device("cpu"),
        interpret=InterpretConfig(),
    )
    assert verdict.fault is None
    assert verdict.wall_s > 0
    for a, b in zip(before, problem.operands, strict=True):
        assert a is not None
        assert b is not None
        assert torch.equal(a, b)


def test_why_unserved() -> None:
    op = find_op("copy_blocks")
    spec = find_variant(op, "simple").spec
    narrow = replace(spec, types={"kv_t": ("float32",)})
    first = next(problems_of(op))
    assert why_unserved(spec, first) is None
    assert "must be float32, got float16" in (why_unserved(narrow, first) or "")


def test_same_bits_takes_nan_for_itself() -> None:
    x = torch.tensor([[1.0, torch.nan], [0.0, 2.0]])
    assert same_bits((x,), (x.clone(),)) is None
    assert bits(x).shape == (2, 2, 4)
    negative_zero = x.clone()
    negative_zero[1, 0] = -0.0
    assert "1 of 2 entries of axis 0, first in 1" in (same_bits((x,), (negative_zero,)) or "")
