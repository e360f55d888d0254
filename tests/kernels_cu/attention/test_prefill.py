"""Prefill attention over the paged pool: naive and on tensor cores, in the interpreter."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from paged.errors import KernelRunError, OperandError
from paged.kernel.backends.interpret import InterpretConfig
from paged.kernel.binding import bind
from paged.kernel.ops.attention import OP
from paged.kernel.ops.attention_cases import (
    LAYOUTS,
    AttentionCase,
    AttentionProblem,
    make_problem,
)
from paged.kernel.ops.pairwise import pairwise
from paged.kernel.spec import KernelSpec
from paged.kernel.variant import find_variant
from tests.helpers.attention_matrix import Batch, decode, fault, run
from tests.helpers.cache_calls import mutant_of

NAMES = ("prefill_naive", "prefill_tiled")

# types of query and pool, and head_dim: each is one more compilation
BUILDS = {
    "prefill_naive": (
        ("float32", "float32", 80),
        ("float16", "float8_e4m3fn", 64),
        ("bfloat16", "bfloat16", 256),
        ("float16", "float16", 72),
    ),
    "prefill_tiled": (
        ("float16", "float16", 64),
        ("bfloat16", "bfloat16", 128),
        ("bfloat16", "float8_e4m3fn", 96),
        ("float16", "float8_e4m3fn", 256),
        ("float16", "float16", 80),
    ),
}


BATCHES = (
    decode(1, 17, 70, 0, 129),
    Batch((5, 64, 130, 65), (5, 1, 64, 2), num_padding=3),
    Batch((200,), (75,)),  # a chunk
    Batch((0, 33, 16, 40), (0, 33, 0, 5)),  # sequences without queries
    Batch((3, 40), (5, 16)),  # queries before the first key
    Batch((63, 64, 65, 31, 32, 33), (63, 1, 65, 31, 2, 33)),  # around tiles
    Batch((), (), num_padding=5),
)

FACTORS = {
    "batch": BATCHES,
    "group_size": (1, 3, 4, 7, 16),
    "num_kv_heads": (1, 2),
    "block_size": (1, 8, 16, 64, 256),
    "layout": LAYOUTS,
    "window": (None, 1, 16, 70),
    "softcap": (None, 5.0),
    "has_alibi": (False, True),
    "has_sinks": (False, True),
    "has_scales": (False, True),
    "shares_blocks": (False, True),
}


def cases(name: str) -> list[AttentionCase]:
    """Return a variant's matrix: every pair of choices, in few cases."""
    factors = {"build": BUILDS[name], **FACTORS}
    found: list[AttentionCase] = []
    for seed, picked in enumerate(pairwise(factors)):
        chosen = {factor: values[picked[factor]] for factor, values in factors.items()}
        q_t, kv_t, head_dim = chosen.pop("build")
        batch = chosen.pop("batch")
        types = {"q_t": q_t, "kv_t": kv_t, "head_dim": head_dim}
        found.append(AttentionCase(seed=seed, **types, **batch._asdict(), **chosen))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_matrix(name: str) -> None:
    spec = find_variant(OP, name).spec
    faults = {case: fault(spec, case) for case in cases(name)}
    wrong = [f"{case}: {found}" for case, found in faults.items() if found is not None]
    assert not wrong, "\n".join(wrong)


EVERYTHING = AttentionCase(
    head_dim=64,
    group_size=3,
    num_kv_heads=2,
    seq_lens=(70, 150, 9),
    query_lens=(70, 40, 1),
    num_padding=2,
    window=80,
    softcap=5.0,
    has_alibi=True,
    has_sinks=True,
    has_scales=True,
)
PLAIN = replace(
    EVERYTHING, window=None, softcap=None, has_alibi=False, has_sinks=False, has_scales=False
)


@pytest.mark.parametrize("case", [EVERYTHING, PLAIN], ids=["everything", "plain"])
@pytest.mark.parametrize("name", NAMES)
def test_neither_the_order_of_lanes_nor_undefined_memory_matters(
    name: str, case: AttentionCase
) -> None:
    spec, problem = find_variant(OP, name).spec, make_problem(case)
    natural = run(spec, problem)
    assert problem.fault(*natural) is None
    for config in (InterpretConfig(seed=1, poison=0xAA), InterpretConfig(seed=2, poison=0x00)):
        for first, second in zip(natural, run(spec, problem, config), strict=True):
            assert torch.equal(first, second), config


NUM_CACHED, NUM_NEW = 9, 141
"""Keys of the prompt that are in the pool, and tokens of it that are to come."""


def chunked(whole: AttentionProblem, num_tokens: int) -> AttentionProblem:
    """Return the prompt as a batch of its chunks, all over the same pages."""
    query, pool, tables, _, _, *others = whole.operands
    assert tables is not None
    ends = [*range(num_tokens, NUM_NEW, num_tokens), NUM_NEW]
    operands = (
        query,
        pool,
        tables.expand(len(ends), -1).contiguous(),
        torch.tensor([NUM_CACHED + end for end in ends], dtype=torch.int32),
        torch.tensor([0, *ends], dtype=torch.int32),
        *others,
    )
    return AttentionProblem(operands=operands, numbers=whole.numbers)


@pytest.mark.parametrize("case", [EVERYTHING, PLAIN], ids=["everything", "plain"])
@pytest.mark.parametrize("name", NAMES)
def test_chunks_of_a_prompt_equal_the_whole_bit_for_bit(name: str, case: AttentionCase) -> None:
    spec = find_variant(OP, name).spec
    prompt = replace(case, seq_lens=(NUM_CACHED + NUM_NEW,), query_lens=(NUM_NEW,), num_padding=0)
    whole = make_problem(prompt)
    out, lse = run(spec, whole)
    assert whole.fault(out, lse) is None
    for num_tokens in (1, 5, 64):
        chunk_out, chunk_lse = run(spec, chunked(whole, num_tokens))
        assert torch.equal(chunk_out, out), num_tokens
        assert torch.equal(chunk_lse, lse), num_tokens


@pytest.mark.parametrize("name", NAMES)
def test_a_call_without_tokens_returns_empty_outputs(name: str) -> None:
    spec = find_variant(OP, name).spec
    out, lse = run(spec, make_problem(AttentionCase(seq_lens=(0, 7), query_lens=(0, 0))))
    assert out.shape == (0, 1, 64)
    assert lse.shape == (0, 1)


def test_the_tiled_variant_names_the_types_it_takes() -> None:
    spec = find_variant(OP, "prefill_tiled").spec
    problem = make_problem(
        AttentionCase(q_t="float32", kv_t="float32", seq_lens=(3,), query_lens=(3,))
    )
    with pytest.raises(OperandError, match="'query' must be float16 or bfloat16, got float32"):
        run(spec, problem)


@pytest.mark.parametrize("num_queries", [1, 2])
@pytest.mark.parametrize("head_dim", [20, 64, 72, 128, 256, 320])
@pytest.mark.parametrize("q_t", ["float32", "float16"])
def test_the_chosen_variant_takes_the_call(q_t: str, head_dim: int, num_queries: int) -> None:
    case = AttentionCase(
        q_t=q_t, kv_t=q_t, head_dim=head_dim, seq_lens=(5,), query_lens=(num_queries,)
    )
    problem = make_problem(case)
    name = OP.choose(bind(OP.signature, problem.operands, problem.numbers))
    assert name.startswith("prefill") == (num_queries > 1 and head_dim not in (20, 320))
    bind(find_variant(OP, name).spec, problem.operands, problem.numbers)


class Mutant(NamedTuple):
    """A wrong edit of one file, and what it stands for."""

    fault: str
    file: str
    old: str
    new: str


PREFILL, VISIBLE, HALF_TILE = "prefill.cuh", "visible_keys.cuh", "half_tile.cuh"
NAIVE, TILED = "prefill_naive.cu", "prefill_tiled.cu"
MUTANTS = {
    "prefill_naive": (
        Mutant("window one too wide", VISIBLE, "position - p.window + 1;", "position - p.window;"),
        Mutant("sees the next key", VISIBLE, "min(position + 1LL", "min(position + 2LL"),
        Mutant("tiles of the wrong sequence", PREFILL, "middle) <= tile", "middle) < tile"),
        Mutant("all under the first head", PREFILL, "blockIdx.y * p.group_size + ", ""),
        Mutant("sink without rescaling", PREFILL, "return factor * sums", "return sums"),
        Mutant("padding takes a sink", PREFILL, "tile.seq < p.num_seqs && ", ""),
        Mutant("sums not rescaled", NAIVE, "outputs[i] *= factor", "outputs[i] *= 1.0f"),
        Mutant("scales dropped", NAIVE, " * scale : 0.0f;", " : 0.0f;"),
        Mutant("keys overwritten early", NAIVE, "__syncthreads();  // the keys are used", "//"),
    ),
    "prefill_tiled": (
        Mutant("sums not rescaled", TILED, "[2 * kRow] *= factor", "[2 * kRow] *= 1.0f"),
        Mutant(
            "key scale dropped", TILED, "p.scale * kv_scale_of(p, kKeys, blockIdx.y)", "p.scale"
        ),
        Mutant("value scale dropped", TILED, "sums) * scale;", "sums);"),
        Mutant("unmasked diagonal", TILED, "<= seen_by_all.end", "<= seen.end + TILE_KEYS"),
        Mutant("reads unseen slots", TILED, "is_seen = seen.begin <= key && ", "is_seen = "),
        Mutant("values not transposed", HALF_TILE, "ldmatrix_x4_trans(b", "ldmatrix_x4(b"),
        Mutant(
            "no wait for keys", TILED, "cp_async_wait<0>();\n    __syncthreads();  // the k", "//"
        ),
    ),
}


@pytest.mark.parametrize(
    ("name", "mutant"),
    [pytest.param(n, m, id=f"{n}-{m.fault}") for n in NAMES for m in MUTANTS[n]],
)
def test_a_wrong_kernel_is_found(name: str, mutant: Mutant, tmp_path: Path) -> None:
    spec = mutant_of(find_variant(OP, name).spec, tmp_path, mutant.file, mutant.old, mutant.new)
    assert is_found(spec, EVERYTHING) or is_found(spec, replace(PLAIN, window=33))


def is_found(spec: KernelSpec, case: AttentionCase) -> bool:
    """Say whether a case shows a kernel to be wrong, by its result or by a crash."""
    try:
        return fault(spec, case) is not None
    except KernelRunError:
        return True
