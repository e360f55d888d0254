"""Throughput of the interpreter by kernel: on one core, on all, and with every access judged.

Plain runs on one core are ours, so that the ratio of the judged ones, which take one and one order
of blocks, is that of the instrumentation. A call's process and its copies of operands are part of
it, as they are of use. What judging costs the blocks alone is told beside, by processor time, which
other programs change little: runs alternate, and the ratio is the median of those of the pairs.
The least work of a call, over its time, is the throughput.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from statistics import median
from time import perf_counter
from typing import Any

import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture

from bench.compare import Comparison, Contestant, Rival, Times, race
from bench.report import Collected
from paged.kernel.backends.interpret import InterpretConfig
from paged.kernel.call import Interpret, kernel_call
from paged.kernel.measure.cache_workloads import builds_of
from paged.kernel.measure.measurement import work_of
from paged.kernel.measure.processor_time import processor_s
from paged.kernel.measure.workloads import AttentionShape
from paged.kernel.problem import Problem
from paged.kernel.registry import ops
from paged.kernel.sanitize import SanitizeConfig
from paged.kernel.spec import KernelSpec
from paged.kernel.variant import find_variant

NUM_CHUNKS = 5
ROUNDS_PER_CHUNK = 2
NUM_JUDGED = 7
ONE_CORE = InterpretConfig(num_workers=1)
RIVALS: dict[str, Interpret] = {
    "all cores": InterpretConfig(),
    "judged": SanitizeConfig(seeds=()),
}
CPU = torch.device("cpu")
SEED = 1
HEADS = AttentionShape(
    seq_lens=(512,) * 4, num_kv_heads=2, group_size=4, q_t="float16", kv_t="float16"
)
ATTENTION = {
    "decode": HEADS,
    "prefill": replace(HEADS, seq_lens=(96, 40), query_lens=(64, 40)),
}
ENTRIES = [
    *(("attention", variant, "decode") for variant in ("v0", "v1", "v1g", "v2")),
    *(("attention", variant, "prefill") for variant in ("prefill_naive", "prefill_tiled")),
    *((op, "vector", "rows") for op in ("write_kv", "rope_write_kv", "gather_kv")),
    ("copy_blocks", "vector", "blocks"),
]


@pytest.mark.parametrize(("op", "variant", "what"), ENTRIES, ids=lambda text: text)
def test_interpreter(
    op: str, variant: str, what: str, benchmark: BenchmarkFixture, collected: Collected
) -> None:
    spec = find_variant(ops()[op], variant).spec
    problem = ATTENTION[what].problem(CPU, SEED) if what in ATTENTION else rows_to_move(op)
    numbers: dict[str, Any] = dict(problem.numbers)

    def calls(interpret: Interpret) -> Callable[[], object]:
        return lambda: kernel_call(spec, *problem.operands, interpret=interpret, **numbers)

    ours = calls(ONE_CORE)
    raced = race(
        benchmark,
        Contestant(prepare=lambda: None, run=lambda _: ours()),
        {name: times(calls(interpret)) for name, interpret in RIVALS.items()},
        num_chunks=NUM_CHUNKS,
        rounds_per_chunk=ROUNDS_PER_CHUNK,
    )
    if raced is not None:
        mine, rivals = raced
        notes = {"throughput": throughput(op, problem, mine), "judging": judging(spec, problem)}
        collected.keep(benchmark, Comparison(unit="call", ours=mine, rivals=rivals, notes=notes))


def judging(spec: KernelSpec, problem: Problem) -> str:
    """Return the processor time of a call's blocks, plain and judged, and the ratio."""

    def taken_s(sanitize: bool) -> float:
        interpret = InterpretConfig(num_workers=1, sanitize=sanitize)
        return processor_s(spec, *problem.operands, interpret=interpret, **problem.numbers)

    pairs = [(taken_s(False), taken_s(True)) for _ in range(1 + NUM_JUDGED)][1:]
    plain_s, judged_s = (median(times) for times in zip(*pairs, strict=True))
    ratio = median(judged / plain for plain, judged in pairs)
    return f"{1e3 * plain_s:.3g} ms, {1e3 * judged_s:.3g} ms: {ratio:.1f} x"


def rows_to_move(op: str) -> Problem:
    """Return the first workload of an operation that moves rows or blocks, with few of them."""
    build = next(iter(builds_of(op, on_gpu=True, smaller=True).values()))
    return build(CPU, SEED)


def times(run: Callable[[], object]) -> Rival:
    """Return a rival that runs something once a round."""

    def rounds_us(num_rounds: int) -> list[float]:
        taken_us: list[float] = []
        for _ in range(num_rounds):
            before_s = perf_counter()
            run()
            taken_us.append(1e6 * (perf_counter() - before_s))
        return taken_us

    return rounds_us


def throughput(op: str, problem: Problem, times: Times) -> str:
    """Return the least work of a call over the median of its times: flops, of a copy bytes."""
    work = work_of(op, problem)
    if work.flops:
        return f"{work.flops / times.median_us:.3g} Mflop/s"
    return f"{work.bytes / times.median_us:.3g} MB/s"
