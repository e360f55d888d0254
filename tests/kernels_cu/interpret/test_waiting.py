"""Threads that wait in loops of their own let the others go on."""

from __future__ import annotations

import pytest
import torch

from paged.errors import KernelRunError
from paged.kernel.backends.interpret import InterpretConfig
from tests.helpers.interpreted import filled, launch, marked_line, program, updated

FILE = "waiting.cu"
CONFIGS = [InterpretConfig(), InterpretConfig(seed=1), InterpretConfig(isolate=False)]


@pytest.fixture(params=CONFIGS, ids=["natural", "seed 1", "in place"])
def config(request: pytest.FixtureRequest) -> InterpretConfig:
    return request.param


@pytest.mark.parametrize("block", [2, 32, 128])
def test_a_thread_may_wait_for_another_of_its_block(config: InterpretConfig, block: int) -> None:
    out = filled(1, dtype=torch.int32)
    launch(program(FILE, config), "within_a_warp", block=block, out=out)
    assert out.tensor.item() == 5


def test_threads_may_all_wait_in_a_chain(config: InterpretConfig) -> None:
    out = torch.zeros(200, dtype=torch.int32)
    launch(program(FILE, config), "chain", block=200, out=updated(out))
    assert out.tolist() == list(range(200, 0, -1))


def test_blocks_may_wait_for_each_other_by_loads_past_the_cache() -> None:
    counter = torch.zeros(1, dtype=torch.int32)
    config = InterpretConfig(num_workers=2)
    launch(program(FILE, config), "between_blocks", grid=2, counter=updated(counter))
    assert counter.item() == 100


@pytest.mark.parametrize("isolate", [True, False])
def test_a_wait_for_nobody_is_ended_and_located(isolate: bool) -> None:
    config = InterpretConfig(timeout_s=0.5, isolate=isolate)
    out = torch.zeros(1, dtype=torch.int32)
    with pytest.raises(KernelRunError, match=r"did not end within 0\.5 s") as caught:
        launch(program(FILE, config), "for_nobody", grid=3, out=updated(out))
    text = str(caught.value)
    assert f"{FILE}:{marked_line(FILE, 'for_nobody')}, block" in text
    assert "thread (3, 0, 0)" in text
    assert "thread (3,0,0): running" in text
    assert "threads (4,0,0) to (31,0,0): at __syncthreads" in text


def test_a_lane_whose_turn_ends_on_its_way_to_the_mask_is_in_it(config: InterpretConfig) -> None:
    # less than a turn each, so that one ends within one of the launches if they share turns
    for _ in range(4):
        out = filled(2, 32, dtype=torch.int32)
        launch(program(FILE, config), "late_for_the_mask", out=out, num_steps=3000)
        assert out.tensor[0].tolist() == [-1] * 32


def test_a_lane_whose_turn_took_two_is_not_waited_for(config: InterpretConfig) -> None:
    out = filled(2, 32, dtype=torch.int32)
    launch(program(FILE, config), "late_for_the_mask", out=out, num_steps=100_000)
    alone = 1 << 14
    others = [mask for lane, mask in enumerate(out.tensor[0].tolist()) if lane != 14]
    assert out.tensor[0, 14] == alone
    assert others == [-1 - alone] * 31


def test_atomics_of_other_lanes_end_nobodys_turn_before_the_mask(config: InterpretConfig) -> None:
    count = torch.zeros(1, dtype=torch.int32)
    out = filled(128, dtype=torch.int32)
    launch(
        *(program(FILE, config), "atomics_before_the_mask"),
        block=128,
        count=updated(count),
        out=out,
    )
    assert out.tensor.tolist() == [-1] * 128


def test_turns_are_a_launchs_own(config: InterpretConfig) -> None:
    orders: list[list[int]] = []
    for _ in range(3):
        out = filled(2, 32, dtype=torch.int32)
        taken = torch.zeros(1, dtype=torch.int32)
        launch(program(FILE, config), "tickets", next=updated(taken), out=out, num_steps=700)
        orders.append(out.tensor[0].tolist())
    assert orders[1:] == orders[:1] * 2
    assert sorted(orders[0]) == list(range(32))
