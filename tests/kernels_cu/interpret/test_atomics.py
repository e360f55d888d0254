"""Atomics of every type between blocks that run at once, locks, and variables that last."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from paged.errors import KernelRunError, OperandError
from paged.kernel.backends.interpret import InterpretConfig, InterpretProgram
from tests.helpers.interpreted import filled, fresh_program, given, launch, program, updated

FILE = "atomics.cu"
INTEGERS = {"int": torch.int32, "long long": torch.int64}
WORDS = {"unsigned": torch.int32, "unsigned long long": torch.int64}
FLOATS = {"float": torch.float32, "double": torch.float64}
SMALL = {"__half": torch.float16, "__nv_bfloat16": torch.bfloat16}
TEMPLATES = (
    *(f"arithmetic<{name}>" for name in (INTEGERS | FLOATS)),
    *(f"bitwise<{name}>" for name in WORDS),
    *(f"additions<{name}>" for name in (FLOATS | SMALL)),
)
CONFIGS = [
    InterpretConfig(num_workers=4),
    InterpretConfig(seed=1, num_workers=3),
    InterpretConfig(isolate=False),
]
NUM_BLOCKS, NUM_THREADS = 6, 64
TOTAL = NUM_BLOCKS * NUM_THREADS


@pytest.fixture(params=CONFIGS, ids=str)
def built(request: pytest.FixtureRequest) -> InterpretProgram:
    return program(FILE, request.param, templates=TEMPLATES)


def new_program(config: InterpretConfig | None = None) -> InterpretProgram:
    return fresh_program(FILE, config, templates=TEMPLATES)


@pytest.mark.parametrize(("name", "dtype"), (INTEGERS | FLOATS).items())
def test_arithmetic_loses_no_update(built: InterpretProgram, name: str, dtype: torch.dtype) -> None:
    out = torch.tensor([0, 0, 5000, -5, 3, 0], dtype=dtype)
    launch(built, f"arithmetic<{name}>", grid=NUM_BLOCKS, block=NUM_THREADS, out=updated(out))
    expected = [TOTAL, -TOTAL, 1000 - (TOTAL - 1), TOTAL - 1, 7, 2 * TOTAL]
    assert out.tolist() == expected


@pytest.mark.parametrize(("name", "dtype"), WORDS.items())
def test_bits_lose_no_update(built: InterpretProgram, name: str, dtype: torch.dtype) -> None:
    out = torch.tensor([-1, 0, 0], dtype=dtype)
    launch(built, f"bitwise<{name}>", grid=NUM_BLOCKS, block=NUM_THREADS, out=updated(out))
    odd = 0
    for i in range(TOTAL):
        odd ^= i
    assert out.tolist() == [-1 << 16, (1 << 20) - 1, odd]


@pytest.mark.parametrize(("name", "dtype"), (FLOATS | SMALL).items())
def test_floating_sums_lose_no_update(
    built: InterpretProgram, name: str, dtype: torch.dtype
) -> None:
    out = torch.zeros(3, dtype=dtype)
    launch(built, f"additions<{name}>", grid=4, block=64, out=updated(out))
    assert out.tolist() == [64.0, 64.0, 64.0]


def test_pairs_of_small_floats_add(built: InterpretProgram) -> None:
    half, brain = torch.zeros(2, dtype=torch.float16), torch.zeros(2, dtype=torch.bfloat16)
    launch(built, "pairs", grid=2, block=64, half=updated(half), brain=updated(brain))
    assert half.tolist() == [128.0, 64.0]
    assert brain.tolist() == [64.0, 128.0]


def test_increments_wrap(built: InterpretProgram) -> None:
    out = torch.tensor([0, 0, 0], dtype=torch.int32)
    launch(built, "wrapping", block=17, out=updated(out))
    assert out.tolist() == [17 % 7, -17 % 7, 51]


def test_the_last_block_sees_what_all_have_written(built: InterpretProgram) -> None:
    source = torch.arange(TOTAL, dtype=torch.int32)
    for _ in range(3):
        partial, out = filled(NUM_BLOCKS, dtype=torch.int32), filled(1, dtype=torch.int32)
        launch(
            built,
            "last_block_sums",
            grid=NUM_BLOCKS,
            block=NUM_THREADS,
            source=given(source),
            partial=partial,
            out=out,
        )
        assert out.tensor.item() == source.sum()


@pytest.mark.parametrize("isolate", [True, False])
def test_variables_last_from_launch_to_launch(isolate: bool) -> None:
    config = InterpretConfig(isolate=isolate)
    first, second = new_program(config), new_program(config)
    out = filled(1, dtype=torch.int32)
    for built, num_launches in ((first, 2), (second, 1), (first, 1)):
        for _ in range(num_launches):
            launch(built, "count_visits", block=6, out=out, fails=0)
    assert first.read_variable("visits", np.int32, (3,)).tolist() == [16, 26, 36]
    assert second.read_variable("visits", np.int32, (3,)).tolist() == [12, 22, 32]
    assert out.tensor.item() == 20


@pytest.mark.parametrize("isolate", [True, False])
def test_variables_are_set_by_name(isolate: bool) -> None:
    built = new_program(InterpretConfig(isolate=isolate))
    built.write_variable("visits", np.array([1, 2, 3], np.int32))
    built.write_variable("inner::factor", np.array(0.5, np.float32))
    out = filled(1, dtype=torch.int32)
    launch(built, "count_visits", block=3, out=out, fails=0)
    assert built.read_variable("visits", np.int32, (3,)).tolist() == [2, 3, 4]
    assert out.tensor.item() == 5


def test_a_failed_launch_leaves_variables_as_they_were() -> None:
    built = new_program()
    with pytest.raises(KernelRunError, match="__trap"):
        launch(built, "count_visits", block=3, out=filled(1, dtype=torch.int32), fails=1)
    assert built.read_variable("visits", np.int32, (3,)).tolist() == [10, 20, 30]


def test_unknown_variables_and_other_sizes_are_refused() -> None:
    built = new_program()
    with pytest.raises(OperandError, match=r"got .absent.; the source.s variables are: .*visits"):
        built.read_variable("absent", np.int32, (1,))
    with pytest.raises(OperandError, match="variable 'visits' has 12 bytes, got 8"):
        built.write_variable("visits", np.zeros(2, np.int32))


@pytest.mark.parametrize("entry", ["ticket_lock", "spin_lock"])
def test_locks_between_lanes_and_blocks_let_one_in_at_a_time(
    built: InterpretProgram, entry: str
) -> None:
    lock, guarded = torch.zeros(2, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    launch(built, entry, grid=3, block=64, lock=updated(lock), guarded=updated(guarded))
    assert guarded.item() == 3 * 64


def test_a_warp_may_wait_for_another_without_a_barrier(built: InterpretProgram) -> None:
    out = filled(1, dtype=torch.int32)
    launch(built, "hand_over", block=64, out=out)
    assert out.tensor.item() == 5


@pytest.mark.parametrize("num_waited", [0, 1, 2])
def test_copies_arrive_when_they_are_waited_for(built: InterpretProgram, num_waited: int) -> None:
    source = torch.arange(256, dtype=torch.int32)
    out = filled(64, 4, dtype=torch.int32)
    launch(built, "background_copies", source=given(source), out=out, num_waited=num_waited)
    tiles = source.reshape(64, 4).clone()
    tiles[32::2, 1:] = 0
    undefined = torch.full((32, 4), -1, dtype=torch.int32)
    assert torch.equal(out.tensor[:32], tiles[:32] if num_waited >= 1 else undefined)
    assert torch.equal(out.tensor[32:], tiles[32:] if num_waited == 2 else undefined)


def test_clocks_go_on(built: InterpretProgram) -> None:
    out = filled(2, dtype=torch.int64)
    launch(built, "clocks", block=1, out=out)
    assert out.tensor[0] > 0
    assert out.tensor[1] == 1
