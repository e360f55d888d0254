"""Attention problems that show every pair of choices, for variants that compile in the group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch

from paged.kernel.backends.host import HostConfig, load_host
from paged.kernel.backends.host_ops import run_host_op
from paged.kernel.backends.interpret import InterpretConfig
from paged.kernel.binding import padded
from paged.kernel.call import kernel_call
from paged.kernel.ops.attention import OP
from paged.kernel.ops.attention_cases import (
    LAYOUTS,
    AttentionCase,
    AttentionProblem,
    make_problem,
)
from paged.kernel.ops.pairwise import pairwise
from paged.kernel.plans import Given
from paged.kernel.spec import KernelSpec

Result = tuple[torch.Tensor, torch.Tensor]


class Build(NamedTuple):
    """What is compiled in: each is one more compilation of a variant."""

    q_t: str
    kv_t: str
    head_dim: int
    group_size: int

    def __str__(self) -> str:
        return f"{self.q_t}-{self.kv_t}-{self.head_dim}-{self.group_size}"


BUILDS = (
    Build("float32", "float32", 64, 3),
    Build("float16", "float16", 128, 4),
    Build("bfloat16", "bfloat16", 80, 7),
    Build("bfloat16", "float8_e4m3fn", 128, 12),
    Build("float16", "float8_e4m3fn", 96, 5),
    Build("bfloat16", "bfloat16", 256, 1),
    Build("float16", "float16", 72, 16),
    Build("float32", "float8_e4m3fn", 64, 2),
)


class Batch(NamedTuple):
    """Keys and query tokens of each sequence, and tokens of none."""

    seq_lens: tuple[int, ...]
    query_lens: tuple[int, ...]
    num_padding: int = 0


def decode(*seq_lens: int, num_padding: int = 0) -> Batch:
    """Return a batch of one query token a sequence."""
    return Batch(seq_lens, (1,) * len(seq_lens), num_padding)


def batches(block_size: int) -> tuple[Batch, ...]:
    """Return batches around the edges of blocks, tiles and splits."""
    return (
        decode(0, 1, block_size - 1, block_size, block_size + 1, 63, 64, 65),
        decode(511, 512, 513),
        decode(5000),
        decode(*(7 * i % 41 for i in range(100)), num_padding=3),
        Batch((70, 5, 130, 0, 33), (9, 5, 2, 1, 0), num_padding=1),
        Batch((3, 40), (5, 16)),
        Batch((), (), num_padding=2),
    )


FACTORS: Mapping[str, Sequence[Any]] = {
    "build": BUILDS,
    "batch": range(len(batches(1))),
    "block_size": (1, 8, 16, 64, 256),
    "layout": LAYOUTS,
    "window": (None, 1, 16, 70),
    "softcap": (None, 5.0),
    "has_alibi": (False, True),
    "has_sinks": (False, True),
    "has_scales": (True, False),
    "shares_blocks": (False, True),
}


def matrix() -> dict[Build, list[AttentionCase]]:
    """Return all cases by build."""
    found: dict[Build, list[AttentionCase]] = {build: [] for build in BUILDS}
    for seed, picked in enumerate(pairwise(FACTORS)):
        chosen = {name: values[picked[name]] for name, values in FACTORS.items()}
        build = BUILDS[picked["build"]]
        block_size = FACTORS["block_size"][picked["block_size"]]
        batch = batches(block_size)[picked["batch"]]
        del chosen["build"], chosen["batch"]
        num_kv_heads = 1 if build.group_size > 4 else 2
        case = AttentionCase(
            seed=seed, num_kv_heads=num_kv_heads, **build._asdict(), **batch._asdict(), **chosen
        )
        found[build].append(case)
    return found


def run(
    spec: KernelSpec, problem: AttentionProblem, config: InterpretConfig | None = None
) -> Result:
    """Run a variant in the interpreter."""
    results = kernel_call(
        spec, *problem.operands, interpret=config or InterpretConfig(), **problem.numbers
    )
    assert isinstance(results, tuple)
    out, lse = results
    return out, lse


def run_on_host(problem: AttentionProblem, config: HostConfig) -> Result:
    """Run the host kernel."""
    given = Given.of(padded(OP.signature, problem.operands), problem.numbers)
    results = run_host_op(OP, given, load_host(config))
    assert isinstance(results, tuple)
    out, lse = results
    return out, lse


def fault(spec: KernelSpec, case: AttentionCase) -> str | None:
    """Say what a variant gets wrong; None where nothing."""
    problem = make_problem(case)
    return problem.fault(*run(spec, problem))
