"""Time of every shipped kernel beside its peers, in the interpreter and on a GPU if there is one.

In the interpreter the time is that of the check, not of the kernel on hardware.
"""

from __future__ import annotations

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.compare import race
from bench.kernels import Entry, KernelRace, entries
from bench.report import Collected

NUM_CHUNKS = 3
ROUNDS_PER_CHUNK = 1


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.label)
def test_kernel(entry: Entry, benchmark: BenchmarkFixture, collected: Collected) -> None:
    kernel = KernelRace(entry)
    if kernel.result.why_not is not None:
        pytest.skip(kernel.result.why_not)
    assert kernel.result.fault is None, kernel.result.fault
    raced = race(
        benchmark,
        kernel.contestant,
        kernel.rivals,
        num_chunks=NUM_CHUNKS,
        rounds_per_chunk=ROUNDS_PER_CHUNK,
    )
    if raced is not None:
        collected.keep(benchmark, kernel.comparison(*raced))
