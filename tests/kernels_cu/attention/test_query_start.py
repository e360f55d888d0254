"""Tokens of no sequence before and after all others, batches cut short, and numbers at the edge."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from paged.errors import OperandError
from paged.kernel.ops.attention import OP
from paged.kernel.ops.attention_cases import AttentionCase, AttentionProblem, make_problem
from paged.kernel.spec import KernelSpec
from paged.kernel.variant import find_variant, shipped_variants
from tests.helpers.attention_matrix import run

CASE = AttentionCase(
    group_size=3, num_kv_heads=2, seq_lens=(9, 40, 17), query_lens=(4, 30, 3), has_sinks=True
)
DECODE = replace(CASE, query_lens=(1, 1, 1))


@pytest.fixture(params=tuple(shipped_variants(OP)))
def spec(request: pytest.FixtureRequest) -> KernelSpec:
    return find_variant(OP, request.param).spec


def moved(case: AttentionCase, num_leading: int, num_trailing: int) -> AttentionProblem:
    """Return a case with tokens of no sequence around it; below 0 trailing ones cut it short."""
    whole = make_problem(case)
    query, pool, tables, lengths, start, *others = whole.operands
    assert query is not None
    assert start is not None
    num_tokens = num_leading + len(query) + num_trailing
    widths = (0, 0, 0, 0, num_leading, max(0, num_trailing))
    padded = torch.nn.functional.pad(query, widths, value=torch.nan)[:num_tokens]
    operands = (padded, pool, tables, lengths, start + num_leading, *others)
    return AttentionProblem(operands=operands, numbers=whole.numbers)


@pytest.mark.parametrize("case", [CASE, DECODE], ids=["prefill", "decode"])
@pytest.mark.parametrize(("num_leading", "num_trailing"), [(1, 0), (3, 2), (70, 0), (70, 70)])
def test_tokens_before_the_first_sequence_are_padding(
    spec: KernelSpec, case: AttentionCase, num_leading: int, num_trailing: int
) -> None:
    out, lse = run(spec, moved(case, num_leading, num_trailing))
    natural = run(spec, make_problem(case))
    rows = slice(num_leading, num_leading + case.num_tokens)
    assert torch.equal(out[rows], natural[0])
    assert torch.equal(lse[rows], natural[1])
    for padding in (slice(num_leading), slice(rows.stop, None)):
        assert not out[padding].any()
        assert torch.isneginf(lse[padding]).all()


@pytest.mark.parametrize("num_tokens", [1, 4, 20, 34, 36])
def test_a_batch_cut_short_keeps_its_rows(spec: KernelSpec, num_tokens: int) -> None:
    cut = moved(CASE, 0, num_tokens - CASE.num_tokens)
    out, lse = run(spec, cut)
    natural = run(spec, make_problem(CASE))
    assert torch.equal(out, natural[0][:num_tokens])
    assert torch.equal(lse, natural[1][:num_tokens])
    assert cut.fault(out, lse) is None


def test_all_tokens_may_precede_the_first_sequence(spec: KernelSpec) -> None:
    problem = moved(CASE, 70, -CASE.num_tokens - 5)
    out, lse = run(spec, problem)
    assert out.shape[0] == 65
    assert not out.any()
    assert torch.isneginf(lse).all()


def test_an_infinite_sink_takes_all_weight(spec: KernelSpec) -> None:
    problem = make_problem(replace(CASE, seq_lens=(9, 40, 0), num_padding=1))
    sinks = problem.operands[6]
    assert sinks is not None
    sinks[1] = torch.inf
    out, lse = run(spec, problem)
    assert problem.fault(out, lse) is None
    assert not out[:, 1].any()
    assert torch.isposinf(lse[:-1, 1]).all()


@pytest.mark.parametrize("softcap", [0.0, -0.0, 0, -1.0, float("nan")])
def test_a_softcap_must_be_above_zero(spec: KernelSpec, softcap: float) -> None:
    problem = make_problem(CASE)
    wrong = replace(problem, numbers={**problem.numbers, "softcap": softcap})
    with pytest.raises(OperandError, match=r"'softcap' must be above 0\.0, got .*; pass None"):
        run(spec, wrong)
