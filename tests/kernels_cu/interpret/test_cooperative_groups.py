"""Cooperative groups in the interpreter against the same facts computed with NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from paged.errors import KernelCompileError
from paged.kernel.backends.interpret import InterpretBackend, InterpretConfig
from paged.kernel.launch import Program
from paged.kernel.nvrtc import compile_cubin
from paged.kernel.source import KernelSource, read_source
from tests.helpers.cuda_launch import Memory, launch
from tests.helpers.cuda_sources import needs_nvrtc
from tests.helpers.elementwise import KERNELS_DIR

PATH = KERNELS_DIR / "cooperative_groups.cu"
SOURCE = KernelSource(
    name="cooperative_groups",
    text=read_source(PATH),
    path=PATH,
    entries=("shapes", "exchanges", "folds", "barriers"),
)
NUM_THREADS = 96
THREAD = np.arange(NUM_THREADS)
LANE, WARP = THREAD % 32, THREAD // 32
EIGHT = THREAD.reshape(-1, 8)


@pytest.fixture(params=[None, 1, 2], ids=["natural", "seed1", "seed2"])
def program(request: pytest.FixtureRequest) -> Program:
    return InterpretBackend(InterpretConfig(seed=request.param)).build(SOURCE)


def run(program: Program, entry: str, *inputs: torch.Tensor, out: torch.Tensor) -> np.ndarray:
    memories = (Memory("in", tensor) for tensor in inputs)
    launch(program, entry, *memories, Memory("inout", out), grid=1, block=(32, 3))
    return out.numpy()


def test_ranks_and_sizes(program: Program) -> None:
    rows = run(program, "shapes", out=torch.zeros(10, NUM_THREADS, dtype=torch.int32))
    facts = (THREAD, 96, 0, LANE, WARP, 3, THREAD % 8, 8, LANE // 8, 4)
    for index, (row, fact) in enumerate(zip(rows, facts, strict=True)):
        assert np.array_equal(row, np.broadcast_to(fact, NUM_THREADS)), index


def test_exchanges(program: Program) -> None:
    values = np.random.default_rng(0).permutation(NUM_THREADS).astype(np.int32)
    values[8:16] = 40 + THREAD[:8] // 8
    out = torch.zeros(12, NUM_THREADS, dtype=torch.int32)
    rows = run(program, "exchanges", torch.from_numpy(values), out=out)
    eights = values.reshape(-1, 8)
    rank = np.arange(8)
    remainders = eights % 4
    equal = (remainders[:, :, None] == remainders[:, None, :]) @ (1 << rank)
    is_match = (eights // 8 == eights[:, :1] // 8).all(1, keepdims=True)
    facts = (
        np.broadcast_to(eights[:, 3:4], eights.shape),
        np.repeat(values.reshape(-1, 32)[:, 3], 32),
        eights[:, np.where(rank >= 2, rank - 2, rank)],
        eights[:, np.where(rank < 6, rank + 2, rank)],
        eights[:, rank ^ 5],
        np.broadcast_to((eights == 17).any(1, keepdims=True), eights.shape),
        np.broadcast_to((eights != 17).all(1, keepdims=True), eights.shape),
        np.broadcast_to((eights % 3 == 0) @ (1 << rank)[:, None], eights.shape),
        equal,
        np.broadcast_to(is_match * 255, eights.shape),
        np.broadcast_to(is_match, eights.shape),
        np.zeros(NUM_THREADS),
    )
    assert is_match.any()
    for index, (row, fact) in enumerate(zip(rows, facts, strict=True)):
        assert np.array_equal(row, fact.flatten()), index


def test_reductions_and_scans(program: Program) -> None:
    values = np.random.default_rng(1).normal(size=NUM_THREADS).astype(np.float32)
    rows = run(program, "folds", torch.from_numpy(values), out=torch.zeros(15, NUM_THREADS))
    eights = values.reshape(-1, 8)
    running = np.stack([sequential(eight) for eight in eights])
    before = np.concatenate([np.zeros((12, 1), np.float32), running[:, :-1]], axis=1)
    facts = (
        np.repeat([halving(warp, np.add) for warp in values.reshape(3, 32)], 32),
        np.repeat(eights.min(1), 8),
        np.repeat(eights.max(1), 8),
        np.repeat(np.bitwise_xor.reduce(EIGHT, axis=1), 8),
        np.repeat([halving(eight, np.multiply) for eight in eights], 8),
        running,
        before,
    )
    for index, (row, fact) in enumerate(zip(rows, facts, strict=False)):
        assert np.array_equal(row, fact.flatten()), index
    odd = THREAD % 2 == 1
    warps = THREAD.reshape(3, 32)[:, 1::2]
    thirds = np.array([(warps[w] % 3 == t % 3).sum() for w, t in zip(WARP, THREAD, strict=True)])
    order = np.array(
        [list(dict.fromkeys(warps[w] % 3)).index(t % 3) for w, t in zip(WARP, THREAD, strict=True)]
    )
    facts = (
        16,
        LANE // 2,
        values.reshape(3, 32)[WARP, 3],
        0x5555,
        warps.sum(1)[WARP],
        thirds,
        order,
        8,
    )
    for index, (row, fact) in enumerate(zip(rows[7:], facts, strict=True)):
        assert np.array_equal(row[odd], np.broadcast_to(fact, NUM_THREADS)[odd]), index


def sequential(values: np.ndarray) -> np.ndarray:
    return np.add.accumulate(values)


def halving(values: np.ndarray, function: np.ufunc) -> np.float32:
    """Return a butterfly of the farthest first."""
    while len(values) > 1:
        half = len(values) // 2
        values = function(values[:half], values[half:])
    return values[0]


def test_groups_known_at_run_time_only_wait_for_each_other(program: Program) -> None:
    values = np.random.default_rng(2).integers(0, 100, NUM_THREADS, dtype=np.int32)
    out = torch.zeros(3, NUM_THREADS, dtype=torch.int32)
    sixteens, warps, first = run(program, "barriers", torch.from_numpy(values), out=out)
    mirrored = values[::-1]
    assert np.array_equal(sixteens[::16], mirrored.reshape(-1, 16).sum(1))
    assert np.array_equal(warps[::32], mirrored.reshape(-1, 32).sum(1))
    assert np.array_equal(first, np.where(LANE == 0, mirrored, 0))


def test_a_tile_beyond_a_warp_is_refused_with_the_limit() -> None:
    text = """
    #include <cooperative_groups.h>
    namespace cg = cooperative_groups;
    __global__ void k() { cg::tiled_partition<64>(cg::this_thread_block()).sync(); }
    """
    source = KernelSource(name="large_tile", text=text, entries=("k",))
    with pytest.raises(KernelCompileError, match="tiles of at most 32 threads"):
        InterpretBackend(InterpretConfig()).build(source)


@needs_nvrtc
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_the_kernels_compile_against_nvidias_headers(arch: str) -> None:
    assert compile_cubin(SOURCE, arch).image.startswith(b"\x7fELF")
