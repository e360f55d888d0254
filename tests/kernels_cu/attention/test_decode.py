"""What v0, v1, v1g and v2 promise beside being right: no order, no poison, every head_dim."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from paged.kernel.backends.interpret import InterpretConfig
from paged.kernel.ops.attention import OP
from paged.kernel.ops.attention_cases import AttentionCase, make_problem
from paged.kernel.spec import KernelSpec
from paged.kernel.variant import find_variant
from tests.helpers.attention_matrix import fault, run

EVERYTHING = AttentionCase(
    group_size=3,
    num_kv_heads=2,
    seq_lens=(0, 70, 600, 9),
    query_lens=(1, 4, 1, 1),
    num_padding=2,
    window=560,
    softcap=5.0,
    has_alibi=True,
    has_sinks=True,
    has_scales=True,
    shares_blocks=True,
)


@pytest.fixture(params=["v0", "v1", "v1g", "v2"])
def spec(request: pytest.FixtureRequest) -> KernelSpec:
    return find_variant(OP, request.param).spec


def test_neither_the_order_of_lanes_nor_undefined_memory_matters(spec: KernelSpec) -> None:
    problem = make_problem(EVERYTHING)
    natural = run(spec, problem)
    assert problem.fault(*natural) is None
    for config in (InterpretConfig(seed=1, poison=0xAA), InterpretConfig(seed=2, poison=0x00)):
        for first, second in zip(natural, run(spec, problem, config), strict=True):
            assert torch.equal(first, second), config


def test_many_sequences(spec: KernelSpec) -> None:
    lengths = tuple(7 * i % 41 for i in range(300))
    case = replace(EVERYTHING, seq_lens=lengths, query_lens=(1,) * 300, window=None)
    assert fault(spec, case) is None


@pytest.mark.parametrize(("kv_t", "head_dim"), [("float16", 46), ("float8_e4m3fn", 33)])
def test_any_head_dim(spec: KernelSpec, kv_t: str, head_dim: int) -> None:
    assert fault(spec, replace(EVERYTHING, kv_t=kv_t, head_dim=head_dim)) is None


def test_chunks_of_a_prompt_equal_the_whole(spec: KernelSpec) -> None:
    whole = make_problem(replace(EVERYTHING, seq_lens=(70,), query_lens=(60,), num_padding=0))
    query, pool, tables, _, _, *others = whole.operands
    assert tables is not None
    out, lse = run(spec, whole)
    assert whole.fault(out, lse) is None
    ends = [7, 30, 60]
    operands = (
        query,
        pool,
        tables.expand(3, -1).contiguous(),
        torch.tensor([10 + end for end in ends], dtype=torch.int32),
        torch.tensor([0, *ends], dtype=torch.int32),
        *others,
    )
    chunked = run(spec, replace(whole, operands=operands))
    assert torch.equal(chunked[0], out)
    assert torch.equal(chunked[1], lse)


def test_without_tokens_nothing_runs(spec: KernelSpec) -> None:
    out, lse = run(spec, make_problem(replace(EVERYTHING, query_lens=(0,) * 4, num_padding=0)))
    assert out.shape == (0, 6, 64)
    assert lse.shape == (0, 6)
