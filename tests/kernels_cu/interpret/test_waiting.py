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
