"""Workloads are what their names say, the same each time, and right by the reference."""

from __future__ import annotations

import pytest
import torch

from paged.errors import KernelSourceError
from paged.kernel.measure.workloads import (
    ATTENTION_ON_GPU,
    find_workloads,
    judge_attention,
    with_own_memory,
    workloads_of,
)
from paged.kernel.ops.attention_cases import AttentionProblem
from paged.kernel.registry import OP_NAMES
from tests.helpers.measured import CPU, SHAPE, with_shape

CUDA = torch.device("cuda")


@pytest.mark.parametrize("op", OP_NAMES)
def test_every_operation_has_workloads_on_both_devices(op: str) -> None:
    assert workloads_of(op, CPU)
    assert workloads_of(op, CUDA)


def test_a_seed_gives_the_same_call_and_another_the_same_shapes() -> None:
    first, same, other = (SHAPE.problem(CPU, seed) for seed in (1, 1, 2))
    for a, b, c in zip(first.operands, same.operands, other.operands, strict=True):
        if a is not None and b is not None and c is not None:
            assert torch.equal(a, b)
            assert a.shape == c.shape
    query, other_query = first.operands[0], other.operands[0]
    assert query is not None
    assert other_query is not None
    assert not torch.equal(query, other_query)


def test_each_block_belongs_to_one_sequence() -> None:
    tables = SHAPE.problem(CPU, 1).operands[2]
    assert tables is not None
    used = [*tables[0, :1], *tables[1, :2], *tables[2, :1]]
    assert sorted(int(block) for block in used) == [0, 1, 2, 3]


def test_prefill_has_its_queries() -> None:
    query, *_ = with_shape(seq_lens=(9, 20), query_lens=(4, 20)).build(CPU, 1).operands
    assert query is not None
    assert query.shape == (24, 6, 16)


def test_output_without_lse_is_judged() -> None:
    given = SHAPE.problem(CPU, 1)
    problem = AttentionProblem(operands=given.operands, numbers=given.numbers)
    out = problem.exact[0].float()
    assert judge_attention(problem, (out,)) is None
    assert judge_attention(problem, (out * 1.01,)) is not None


def test_the_table_of_decode_shapes_is_there() -> None:
    totals = {name: sum(shape.seq_lens) for name, shape in ATTENTION_ON_GPU.items()}
    assert totals["b8-s16k"] == totals["b32-s4k"] == 131072
    assert totals["skewed"] == 64 * 1024 + 63 * 256


@pytest.mark.parametrize("name", ATTENTION_ON_GPU)
def test_a_large_call_has_a_smaller_one_of_its_shape(name: str) -> None:
    shape, smaller = ATTENTION_ON_GPU[name], ATTENTION_ON_GPU[name].smaller
    same = ("num_kv_heads", "group_size", "head_dim", "block_size", "q_t", "kv_t")
    assert [getattr(shape, each) for each in same] == [getattr(smaller, each) for each in same]
    query_lens = smaller.query_lens or ()
    assert len(smaller.seq_lens) == len(query_lens) == min(2, len(shape.seq_lens))
    for query_len, seq_len in zip(query_lens, smaller.seq_lens, strict=True):
        assert query_len <= seq_len <= 1024
        assert query_len * seq_len <= 4096


def test_a_smaller_call_is_as_long_for_its_queries() -> None:
    assert ATTENTION_ON_GPU["b1-s32k"].smaller.seq_lens == (1024,)
    prefill = ATTENTION_ON_GPU["prefill-512-on-8k"].smaller
    assert (prefill.query_lens, prefill.seq_lens) == ((8,), (136,))


def test_calls_on_a_cpu_are_counted_themselves() -> None:
    for op in OP_NAMES:
        assert all(workload.smaller is None for workload in workloads_of(op, CPU).values())
        assert all(workload.smaller is not None for workload in workloads_of(op, CUDA).values())


def test_workloads_are_found_by_name() -> None:
    assert [w.name for w in find_workloads("attention", CPU, ["tiny"])] == ["tiny"]
    assert find_workloads("copy_blocks", CPU, ["tiny-prefill"]) == []
    with pytest.raises(KernelSourceError, match=r"expected a workload for cpu: .*; got 'huge'"):
        find_workloads("attention", CPU, ["huge"])


def test_a_copy_keeps_strides_and_shares_nothing() -> None:
    problem = workloads_of("write_kv", CPU)["tiny"].build(CPU, 1)
    for own, given in zip(with_own_memory(problem).operands, problem.operands, strict=True):
        if own is not None and given is not None:
            assert own.stride() == given.stride()
            assert own.data_ptr() != given.data_ptr()
