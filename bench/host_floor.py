"""What the machine can do at best: time to read so much memory, or to compute so much."""

from __future__ import annotations

import time
from ctypes import c_int, c_int64, c_void_p

import numpy as np
import torch

from bench.compare import Rival
from paged.kernel.backends.host import HostConfig, load_host

CACHE_BYTES = 64 << 20
# A round of a probe is so short that waking a thread counts: the least of so many is a bound.
NUM_PROBES = 50
# Vectors of multiply-adds of a thread and round of `paged_host_probe_flops` and `_pairs`.
PROBE_CHAINS = 12


def host_floor(num_bytes: int, num_flops: float, *, integers: bool = False) -> Rival:
    """Return rounds that take as long as reading so much, or computing so much if that is more.

    Both are measured anew in each round, on the threads of the host backend.
    integers: what is computed are multiply-adds of integers of 16 bits, not of floats.
    """
    host = load_host(HostConfig())
    stream = host.function("paged_host_probe_stream", c_void_p, c_int64, c_void_p, c_int)
    probe = "paged_host_probe_pairs" if integers else "paged_host_probe_flops"
    compute = host.function(probe, c_int64, c_void_p, c_int)
    memory = np.ones(CACHE_BYTES, np.uint8)
    sums = np.zeros(max(CACHE_BYTES >> 20, host.num_threads), np.float32)
    probe_rounds = 100_000
    lane_flops = 4 if integers else 2
    probe_flops = lane_flops * host.level.num_lanes * PROBE_CHAINS * probe_rounds * host.num_threads

    def rounds(num_rounds: int) -> list[float]:
        taken: list[float] = []
        for _ in range(num_rounds):
            begin_s = time.perf_counter()
            stream(memory.ctypes.data, memory.nbytes, sums.ctypes.data, host.num_threads)
            read_s = time.perf_counter()
            compute(probe_rounds, sums.ctypes.data, host.num_threads)
            computed_s = time.perf_counter()
            reading_s = (read_s - begin_s) * num_bytes / memory.nbytes
            computing_s = (computed_s - read_s) * num_flops / probe_flops
            taken.append(1e6 * max(reading_s, computing_s))
        return taken

    return rounds


def block_floor(pool: torch.Tensor, tables: torch.Tensor) -> Rival:
    """Return rounds that read the blocks of int32 tables once, in their order, and compute nothing.

    pool [num_blocks, ...]: contiguous, with blocks of whole KiB.
    """
    host = load_host(HostConfig())
    read = host.function(
        "paged_host_probe_blocks", c_void_p, c_void_p, c_int64, c_int64, c_void_p, c_int
    )
    table = tables.flatten()
    block_bytes = pool[0].nbytes
    if block_bytes % 1024 or not pool.is_contiguous():
        raise ValueError(f"expected blocks of whole KiB side by side, got {block_bytes} bytes")
    sums = np.zeros(len(table), np.float32)

    def rounds(num_rounds: int) -> list[float]:
        taken: list[float] = []
        for _ in range(num_rounds):
            begin_s = time.perf_counter()
            read(
                *(pool.data_ptr(), table.data_ptr(), len(table), block_bytes),
                *(sums.ctypes.data, host.num_threads),
            )
            taken.append(1e6 * (time.perf_counter() - begin_s))
        return taken

    return rounds
