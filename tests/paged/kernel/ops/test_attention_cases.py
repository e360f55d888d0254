"""Attention problems: poisoned where kernels have no business, valid where they have."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from paged.kernel.ops.attention_cases import (
    LAYOUTS,
    POISON_BLOCK,
    AttentionCase,
    AttentionProblem,
    Layout,
    make_problem,
)

CASE = AttentionCase(
    seq_lens=(0, 17, 40, 64),
    query_lens=(1, 1, 2, 1),
    num_padding=2,
    num_kv_heads=2,
    window=20,
)


def visible_slots(problem: AttentionProblem) -> set[tuple[int, int]]:
    """Return block and slot of every key that some query sees."""
    tables = problem.operands[2]
    assert tables is not None
    found: set[tuple[int, int]] = set()
    for row, (length, first) in enumerate(zip(CASE.seq_lens, CASE.first_keys, strict=True)):
        for key in range(first, length):
            entry, slot = divmod(key, CASE.block_size)
            found.add((int(tables[row, entry]), slot))
    return found


@pytest.mark.parametrize("kv_t", ["float16", "float8_e4m3fn"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_only_visible_slots_hold_numbers(layout: Layout, kv_t: str) -> None:
    problem = make_problem(replace(CASE, layout=layout, kv_t=kv_t))
    pool = problem.operands[1]
    assert pool is not None
    assert pool.stride(-1) == 1
    numbers = ~torch.isnan(pool.float())
    assert not numbers[:, 0].any()
    slots = numbers[:, 1].all(dim=-1).all(dim=1).all(dim=1)
    assert torch.equal(slots, numbers[:, 1].any(dim=-1).any(dim=1).any(dim=1))
    assert {(int(b), int(s)) for b, s in slots.nonzero()} == visible_slots(problem)


def test_unused_entries_of_the_table_are_no_blocks() -> None:
    tables = make_problem(CASE).operands[2]
    assert tables is not None
    assert (tables[:, -1] == POISON_BLOCK).all()
    assert (tables[0] == POISON_BLOCK).all()
    assert tables[3, 0] == POISON_BLOCK  # before the window of 20 in 64 keys
    assert (tables[3, 2:4] != POISON_BLOCK).all()


def test_blocks_are_shared_where_asked() -> None:
    case = replace(CASE, seq_lens=(64, 64, 64, 64), window=None)
    for shares in (False, True):
        tables = make_problem(replace(case, shares_blocks=shares)).operands[2]
        assert tables is not None
        used = tables[tables != POISON_BLOCK].tolist()
        assert (len(set(used)) < len(used)) is shares


def test_padding_and_queries_are_as_in_a_fused_projection() -> None:
    query = make_problem(CASE).operands[0]
    assert query is not None
    assert query.shape == (7, 2, 64)
    assert not query.is_contiguous()
    assert torch.isnan(query[5:]).all()
    assert not torch.isnan(query[:5]).any()


def test_a_case_gives_the_same_problem_each_time_and_a_seed_another() -> None:
    first, again, other = (make_problem(replace(CASE, seed=seed)) for seed in (3, 3, 4))
    assert torch.equal(first.exact[0], again.exact[0])
    assert not torch.equal(first.exact[0], other.exact[0])


def test_the_judgement_names_what_is_wrong() -> None:
    problem = make_problem(replace(CASE, has_sinks=True))
    out, lse = problem.exact[0].half(), problem.exact[1].float()
    assert problem.fault(out, lse) is None
    wrong = lse.clone()
    wrong[1, 0] += 0.001
    assert "lse[1, 0]" in (problem.fault(out, wrong) or "")
    wrong = out.clone()
    wrong[2, 1, 5] += 0.1
    assert "out[2, 1, 5]" in (problem.fault(wrong, lse) or "")
