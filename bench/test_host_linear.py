"""Time of packed linear layers beside torch's, and beside what the machine can do.

The floor is the time to read the weight, or to compute its products, whichever is more: both are
measured in turn with the layer, on the same threads. Weights are used in turn and do not fit in a
cache. Times and floors of the same chunk are compared, for a machine is seldom quiet.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from math import ceil

import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture

from bench.compare import Comparison, Contestant, Rival, Times, race
from bench.host_floor import CACHE_BYTES, host_floor
from bench.report import Collected
from paged.kernel.functional import linear
from paged.kernel.linear_weight import LinearWeight, WeightType

OUT_FEATURES, IN_FEATURES = 1536, 576
CALLS_PER_ROUND = 10
NUM_CHUNKS = 5
ROUNDS_PER_CHUNK = 4


def in_turn(calls: list[Callable[[], object]]) -> Callable[[int], list[float]]:
    """Return rounds of calls that take these in turn, in us for a call."""
    at = 0

    def rounds(num_rounds: int) -> list[float]:
        nonlocal at
        taken: list[float] = []
        for _ in range(num_rounds):
            begin_s = time.perf_counter()
            for _ in range(CALLS_PER_ROUND):
                calls[at % len(calls)]()
                at += 1
            taken.append(1e6 * (time.perf_counter() - begin_s))
        return taken

    return rounds


def copies(make: Callable[[], torch.Tensor]) -> list[torch.Tensor]:
    """Return so many tensors that none is in the cache when its turn comes again."""
    first = make()
    return [first, *(first.clone() for _ in range(ceil(CACHE_BYTES / first.nbytes)))]


@pytest.mark.parametrize("num_rows", [1, 2, 4, 8, 12, 16, 24, 32, 256])
@pytest.mark.parametrize("dtype", ["bfloat16", "int8", "float32"])
def test_linear(
    dtype: WeightType, num_rows: int, benchmark: BenchmarkFixture, collected: Collected
) -> None:
    torch.manual_seed(1)
    weight, x = torch.randn(OUT_FEATURES, IN_FEATURES), torch.randn(num_rows, IN_FEATURES)
    packed = LinearWeight.plain(weight).packed(dtype)
    expected = x.double() @ packed.dequantized().double().T
    # int8 weights are multiplied by x of 16 bits
    atol = 1e-2 if dtype == "int8" else 1e-3
    torch.testing.assert_close(linear(x, packed).double(), expected, rtol=0, atol=atol)

    def calls(data: torch.Tensor) -> Callable[[], object]:
        own = replace(packed, data=data)
        return lambda: linear(x, own)

    def torch_calls(kind: torch.dtype) -> Rival:
        rows = x.to(kind)
        return in_turn(
            [
                lambda w=w: torch.nn.functional.linear(rows, w)
                for w in copies(lambda: weight.to(kind))
            ]
        )

    ours = in_turn([calls(data) for data in copies(packed.data.clone)])
    num_flops = 2.0 * num_rows * weight.numel()
    raced = race(
        benchmark,
        Contestant(
            prepare=lambda: None, run=lambda _: ours(1), work_per_round=float(CALLS_PER_ROUND)
        ),
        {
            "floor": host_floor(
                CALLS_PER_ROUND * packed.data.nbytes,
                CALLS_PER_ROUND * num_flops,
                integers=dtype == "int8",
            ),
            "torch float32": torch_calls(torch.float32),
            "torch bfloat16": torch_calls(torch.bfloat16),
        },
        num_chunks=NUM_CHUNKS,
        rounds_per_chunk=ROUNDS_PER_CHUNK,
    )
    if raced is not None:
        notes = {name: rates(times, packed, num_flops) for name, times in raced[1].items()}
        comparison = Comparison(
            unit="call",
            ours=raced[0],
            rivals=raced[1],
            notes={"ours": rates(raced[0], packed, num_flops), **notes},
        )
        collected.keep(benchmark, comparison)


def rates(times: Times, packed: LinearWeight, num_flops: float) -> str:
    """Return GFLOP/s, and GB/s of the packed weight, in the middle round."""
    gflops = num_flops / times.median_us / 1e3
    return f"{gflops:.1f} GFLOP/s, {packed.data.nbytes / times.median_us / 1e3:.2f} GB/s"
