"""Small workloads and candidates without kernels, for tests of measuring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from paged.kernel.cost import Roofline
from paged.kernel.measure.bandwidth import Hardware
from paged.kernel.measure.candidate import Call, Candidate
from paged.kernel.measure.workloads import AttentionShape, Workload
from paged.kernel.problem import Problem, Tensors, results_of
from paged.kernel.registry import ops, run_reference

CPU = torch.device("cpu")

SHAPE = AttentionShape(
    seq_lens=(9, 20, 9), num_kv_heads=2, group_size=3, head_dim=16, q_t="float32", kv_t="float32"
)
WORKLOAD = Workload(op="attention", name="small", build=SHAPE.problem)

# one byte takes 1 ns, one flop 1 ps
HARDWARE = Hardware(
    device=CPU,
    name="a CPU",
    roofline=Roofline(bytes_per_s=1e9, flops_per_s=1e12),
    l2_bytes=None,
)


def exact(name: str = "exact", *, is_peer: bool = False, op: str = "attention") -> Candidate:
    """Return the reference as a candidate."""
    return spoiled(lambda _, results: results, name, is_peer=is_peer, op=op)


def spoiled(
    spoil: Callable[[Problem, Tensors], Tensors],
    name: str = "spoiled",
    *,
    is_peer: bool = False,
    op: str = "attention",
) -> Candidate:
    """Return the reference with something done to its results."""

    def prepare(problem: Problem) -> Call:
        def call() -> Tensors:
            outputs = run_reference(ops()[op], problem.operands, problem.numbers)
            signature = ops()[op].signature
            return spoil(problem, results_of(signature, problem.operands, outputs))

        return call

    return Candidate(name=name, prepare=prepare, is_peer=is_peer)


def with_shape(**changes: object) -> Workload:
    """Return the small workload with another shape."""
    return replace(WORKLOAD, build=replace(SHAPE, **changes).problem)  # pyright: ignore[reportArgumentType]
