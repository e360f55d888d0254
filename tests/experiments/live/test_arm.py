"""The simulation schedules what the real engine schedules, under every allocator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from experiments.live.arm import Arm, measure, predict, real_arm
from experiments.live.ragged import draw_ragged
from paged.engine.llm_config import LLMConfig
from paged.engine.loaded_model import LoadedModel, load_model
from paged.engine.step_time import AffineStepTime
from paged.errors import ConfigError

NUM_BLOCKS, MAX_MODEL_LEN = 40, 512
CONFIG = LLMConfig(
    model="tiny",
    device="cpu",
    num_gpu_blocks_override=NUM_BLOCKS,
    max_model_len=MAX_MODEL_LEN,
    max_num_seqs=8,
    enable_prefix_caching=False,
)
STEP_TIME = AffineStepTime(base_s=1.0, context_s_per_token=0.0, scheduled_s_per_token=0.25)


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    """Load the tiny model."""
    return load_model(CONFIG)


@pytest.mark.parametrize("allocator", ["paged", "reserved-max", "reserved-pow2", "static"])
def test_real_and_simulated_steps_are_the_same(loaded: LoadedModel, allocator: str) -> None:
    load = draw_ragged(1, 6, vocab_size=loaded.config.vocab_size)
    arm = Arm.of(CONFIG, allocator)
    assert arm.scheduler.batching == ("static" if allocator == "static" else "continuous")
    measured = measure(real_arm(CONFIG, loaded, allocator), load)
    predicted = predict(arm, load, STEP_TIME)
    assert predicted.has_work_of(measured)
    assert measured.work["new_tokens"].sum() == load.num_output_tokens
    assert (measured.model_s <= measured.step_s).all()
    expected = 1.0 + 0.25 * predicted.work["scheduled_tokens"]
    np.testing.assert_allclose(predicted.step_s, expected, rtol=1e-9)
    # the pool is small enough for memory to matter
    assert (measured.work["preempted"].sum() > 0) == (allocator == "paged")


@pytest.mark.parametrize("name", ["num_gpu_blocks_override", "max_model_len"])
def test_what_the_machine_would_decide_cannot_be_simulated(name: str) -> None:
    left: dict[str, Any] = {name: None}
    with pytest.raises(ConfigError, match="expected num_gpu_blocks_override and max_model_len"):
        Arm.of(replace(CONFIG, **left), "paged")
