"""The problems on which `paged kernels run` tries a kernel of any operation."""

from __future__ import annotations

from collections.abc import Iterator

from paged.errors import OperandError
from paged.kernel.binding import bind
from paged.kernel.op import Op
from paged.kernel.ops.attention_cases import AttentionCase, make_problem
from paged.kernel.ops.cache_problems import cache_problems
from paged.kernel.problem import Problem
from paged.kernel.spec import KernelSpec

ATTENTION_CASES = {
    "one key": AttentionCase(seq_lens=(1,), query_lens=(1,)),
    "decode, lengths around the block": AttentionCase(
        seq_lens=(15, 16, 17, 64), query_lens=(1, 1, 1, 1), group_size=4, num_kv_heads=2,
        num_padding=2,
    ),
    "decode, long": AttentionCase(seq_lens=(1100, 3), query_lens=(1, 1), head_dim=128),
    "ragged prefill and decode": AttentionCase(
        seq_lens=(40, 70, 5), query_lens=(40, 1, 3), group_size=3, num_padding=2
    ),
    "window": AttentionCase(seq_lens=(90, 20), query_lens=(5, 1), window=17, block_size=8),
    "softcap, alibi and sinks": AttentionCase(
        seq_lens=(33, 50), query_lens=(2, 1), group_size=6, softcap=5.0, has_alibi=True,
        has_sinks=True,
    ),
    "bfloat16, shared blocks, token-major pool": AttentionCase(
        seq_lens=(64, 80), query_lens=(1, 4), q_t="bfloat16", kv_t="bfloat16",
        shares_blocks=True, layout="tokens",
    ),
    "float32, head_dim 80": AttentionCase(
        seq_lens=(37, 9), query_lens=(1, 9), q_t="float32", kv_t="float32", head_dim=80
    ),
    "fp8 cache with scales": AttentionCase(
        seq_lens=(70, 33), query_lens=(1, 2), q_t="bfloat16", kv_t="float8_e4m3fn",
        has_scales=True, group_size=2,
    ),
    "no keys": AttentionCase(seq_lens=(0, 12), query_lens=(1, 1), has_sinks=True),
    "empty batch": AttentionCase(seq_lens=(), query_lens=()),
}  # fmt: skip


def problems_of(op: Op) -> Iterator[Problem]:
    """Return an operation's problems, in order from simple to odd."""
    if op.name != "attention":
        yield from cache_problems(op)
        return
    for name, case in ATTENTION_CASES.items():
        problem = make_problem(case)
        yield Problem(
            name=name,
            operands=problem.operands,
            numbers=problem.numbers,
            judge=lambda results, problem=problem: problem.fault(*results),
        )


def why_unserved(spec: KernelSpec, problem: Problem) -> str | None:
    """Say why a kernel does not take a problem's operands: a type or a size it leaves out."""
    try:
        bind(spec, problem.operands, problem.numbers)
    except OperandError as error:
        return str(error)
    return None
