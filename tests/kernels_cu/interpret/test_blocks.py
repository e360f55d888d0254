"""Grids, blocks, shared memory, barriers and what kernels print."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
import torch

from paged.errors import OperandError
from paged.kernel.backends.interpret import InterpretBackend, InterpretConfig
from paged.kernel.launch import LaunchRequest, Pointer, one
from paged.kernel.source import KernelSource
from tests.helpers.interpreted import Size, filled, given, launch, program, updated

FILE = "blocks.cu"
TEMPLATES = ("transpose<4, int>", "transpose<8, short>")
CONFIGS = [InterpretConfig(), InterpretConfig(seed=1, num_workers=3)]


@pytest.fixture(params=CONFIGS, ids=str)
def config(request: pytest.FixtureRequest) -> InterpretConfig:
    return request.param


@pytest.mark.parametrize(
    ("grid", "block"), [(5, 33), ((2, 3), (4, 5)), ((2, 1, 3), (3, 2, 4)), ((1, 2, 2), 1)]
)
def test_every_thread_of_every_block_knows_its_indices(
    config: InterpretConfig, grid: Size, block: Size
) -> None:
    blocks, threads = (np.array([*np.atleast_1d(size), 1, 1][:3]) for size in (grid, block))
    out = filled(prod(blocks), prod(threads), 6, dtype=torch.int32)
    launch(program(FILE, config, templates=TEMPLATES), "indices", grid=grid, block=block, out=out)
    for number, rows in enumerate(out.tensor.numpy()):
        z, y, x = np.unravel_index(number, blocks[::-1])
        assert (rows[:, :3] == (x, y, z)).all()
        places = np.stack(np.unravel_index(np.arange(prod(threads)), threads[::-1]), axis=1)
        assert (rows[:, 3:] == places[:, ::-1]).all()


def test_all_names_of_dynamic_shared_memory_are_one_array(config: InterpretConfig) -> None:
    out = filled(64, dtype=torch.int32)
    built = program(FILE, config, templates=TEMPLATES)
    launch(built, "dynamic_shared", block=64, shared_bytes=256, out=out)
    expected = 2 * ((torch.arange(64) + 1) % 64 + 1)
    expected[0] += 1
    assert torch.equal(out.tensor, expected.to(torch.int32))


@pytest.mark.parametrize(
    ("entry", "rows", "dtype"), [(TEMPLATES[0], 4, torch.int32), (TEMPLATES[1], 8, torch.int16)]
)
def test_templates_have_their_own_static_shared_memory(
    config: InterpretConfig, entry: str, rows: int, dtype: torch.dtype
) -> None:
    source = torch.arange(rows * rows, dtype=dtype).reshape(rows, rows)
    out = filled(rows, rows, dtype=dtype)
    built = program(FILE, config, templates=TEMPLATES)
    launch(built, entry, block=(rows, rows), source=given(source), out=out)
    assert torch.equal(out.tensor, source.T)


@pytest.mark.parametrize("poison", [0xFF, 0x00, 0xA5])
def test_shared_memory_starts_undefined_in_every_block(poison: int) -> None:
    out = filled(3, 2, dtype=torch.int32)
    built = program(FILE, InterpretConfig(poison=poison, num_workers=1), templates=TEMPLATES)
    launch(built, "shared_starts_undefined", grid=3, shared_bytes=16, out=out)
    assert out.tensor.numpy().tobytes() == bytes([poison]) * 24


def test_barriers_count_predicates(config: InterpretConfig) -> None:
    source = (torch.arange(96) % 5).to(torch.int32)
    out = filled(96, 3, 3, dtype=torch.int32)
    built = program(FILE, config, templates=TEMPLATES)
    launch(built, "predicates", block=96, source=given(source), out=out)
    for threshold in range(3):
        true = source > threshold
        expected = torch.tensor([true.sum(), true.all(), true.any()], dtype=torch.int32)
        assert torch.equal(out.tensor[:, threshold], expected.expand(96, 3))


def test_threads_may_return_early(config: InterpretConfig) -> None:
    out = updated(torch.full((100,), -1, dtype=torch.int32))
    built = program(FILE, config, templates=TEMPLATES)
    launch(built, "early_return", grid=4, block=32, out=out, n=77)
    assert torch.equal(out.tensor[:77], torch.arange(77, dtype=torch.int32))
    assert (out.tensor[77:] == -1).all()


@pytest.mark.parametrize("isolate", [True, False])
def test_text_is_printed_in_order(isolate: bool, capsys: pytest.CaptureFixture[str]) -> None:
    built = program(FILE, InterpretConfig(isolate=isolate, num_workers=1), templates=TEMPLATES)
    launch(built, "prints", grid=2, block=3, rounds=2)
    lines = capsys.readouterr().out.splitlines()
    rounds = [
        f"thread {thread} of block {block}, round {number}"
        for block in range(2)
        for number in range(2)
        for thread in range(3)
    ]
    last = "-1 1099511627776 0.500000 1.234e+03 1e-09 ff z text   2.2|%"
    assert lines == [*rounds[:6], last, *rounds[6:], last]


def test_much_text_arrives_whole(capsys: pytest.CaptureFixture[str]) -> None:
    built = program(FILE, InterpretConfig(num_workers=2), templates=TEMPLATES)
    launch(built, "prints", grid=20, block=64, rounds=8)
    assert len(capsys.readouterr().out.splitlines()) == 20 * (64 * 8 + 1)


@pytest.mark.parametrize("num_threads", [32, 128])
@pytest.mark.parametrize("entry", ["missing_barrier", "missing_second_barrier"])
def test_a_missing_barrier_shows_under_some_seed(entry: str, num_threads: int) -> None:
    results: dict[int | None, torch.Tensor] = {}
    for seed in (None, 1, 2, 3):
        out = filled(num_threads, dtype=torch.int32)
        built = program(FILE, InterpretConfig(seed=seed, num_workers=1), templates=TEMPLATES)
        launch(built, entry, block=num_threads, out=out)
        results[seed] = out.tensor
    natural = results.pop(None)
    right = 42 if entry == "missing_barrier" else 0 + (1 << 2) + (2 << 4) + (3 << 6)
    assert (natural == right).all()
    assert any(not torch.equal(result, natural) for result in results.values())


@pytest.mark.parametrize(("entry", "grid", "block"), [("order_of_blocks", 16, 1)])
def test_blocks_run_in_natural_order_or_that_of_a_seed(entry: str, grid: int, block: int) -> None:
    natural, first, again, other = (run_order(entry, grid, block, seed) for seed in (None, 7, 7, 8))
    assert natural == list(range(16))
    assert sorted(first) == natural
    assert first == again
    assert len({tuple(natural), tuple(first), tuple(other)}) == 3


def test_warps_run_in_natural_order_or_that_of_a_seed() -> None:
    natural, first, other = (run_order("order_of_warps", 1, 512, seed) for seed in (None, 7, 8))
    assert natural == list(range(16))
    assert sorted(first) == natural
    assert len({tuple(natural), tuple(first), tuple(other)}) == 3


def run_order(entry: str, grid: int, block: int, seed: int | None) -> list[int]:
    order = filled(16, dtype=torch.int32)
    built = program(FILE, InterpretConfig(seed=seed, num_workers=1), templates=TEMPLATES)
    counter = updated(torch.zeros(1, dtype=torch.int32))
    launch(built, entry, grid=grid, block=block, order=order, next=counter)
    return order.tensor.tolist()


def test_parameters_are_passed_by_their_own_types(config: InterpretConfig) -> None:
    out = torch.zeros(1, dtype=torch.float64)
    layout = np.dtype(
        [("small", "i1"), ("out", "u8"), ("place", "i4", 3), ("scale", "f4")], align=True
    )
    params = np.array([(2, out.data_ptr(), (3, 0, 4), 0.5)], layout)
    arguments = (params, one(-1, np.int16), one(True, np.bool_), one(0.25, np.float64))
    request = LaunchRequest(
        entry="by_value",
        grid=(1, 1, 1),
        block=(1, 1, 1),
        shared_bytes=0,
        arguments=arguments,
        pointers=(
            Pointer(operand="out", tensor=out, intent="out", argument_index=0, offset_bytes=8),
        ),
    )
    built = program(FILE, config, templates=TEMPLATES)
    built.launch(request)
    assert out.item() == 2 + 30 + 400 + 0.5 - 1000 + 1 + 0.25
    assert params["out"] == out.data_ptr()


def test_parameters_of_other_sizes_are_refused() -> None:
    with pytest.raises(OperandError, match=r"expected parameters of \(8, 4\) bytes, got \(8,\)"):
        launch(
            program(FILE, templates=TEMPLATES),
            "early_return",
            out=updated(torch.zeros(1, dtype=torch.int32)),
        )


def test_too_much_shared_memory_is_refused() -> None:
    with pytest.raises(OperandError, match=r"at most 232,448 bytes .* got 300,000"):
        launch(program(FILE, templates=TEMPLATES), "prints", shared_bytes=300_000, rounds=1)


@pytest.mark.parametrize("config", [InterpretConfig(), InterpretConfig(sanitize=True)])
def test_static_shared_memory_that_no_gpu_has_is_refused(config: InterpretConfig) -> None:
    text = """extern "C" __global__ void k(int* out) {
      __shared__ int tile[20000];
      tile[threadIdx.x] = out[threadIdx.x];
      __syncthreads();
      out[threadIdx.x] = tile[31 - threadIdx.x];
    }"""
    source = KernelSource(name="k", text=text, entries=("k",))
    why = "kernel k: a block has at most 49,152 bytes of static shared memory, got 80,000; declare"
    with pytest.raises(OperandError, match=why):
        launch(
            InterpretBackend(config).build(source),
            "k",
            out=updated(torch.zeros(32, dtype=torch.int32)),
        )
