"""Tables of angles, beside those of transformers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

from model_zoo.registry import config_from_hf
from model_zoo.rope import cos_sin_table, inverse_frequencies
from model_zoo.rope_config import LongRopeScaling, RopeConfig
from tests.helpers.hf_values import llama_values

LENGTHS = {"original_max_position_embeddings": 32}
PAIRS = 8
SCALINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "linear": {"factor": 3.0},
    "dynamic": {"factor": 2.0},
    "yarn": {"factor": 4.0, **LENGTHS},
    "llama3": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, **LENGTHS},
    "longrope": {
        "short_factor": [1.0 + 0.1 * i for i in range(PAIRS)],
        "long_factor": [1.5 + 0.5 * i for i in range(PAIRS)],
        **LENGTHS,
    },
}


def both(**parameters: Any) -> tuple[RopeConfig, transformers.LlamaConfig]:
    """Return the same embedding of 16 elements, theirs with 128 positions."""
    sizes: dict[str, Any] = {
        "hidden_size": 64,
        "num_attention_heads": 4,
        "max_position_embeddings": 128,
    }
    theirs = transformers.LlamaConfig(**sizes, rope_parameters=dict(parameters))
    return config_from_hf(llama_values(**sizes, rope_parameters=parameters)).rope, theirs


@pytest.mark.parametrize("rope_type", SCALINGS)
@pytest.mark.parametrize("num_positions", [32, 128, 500])
def test_the_table_is_that_of_transformers(rope_type: str, num_positions: int) -> None:
    rope, theirs = both(rope_type=rope_type, rope_theta=100.0, **SCALINGS[rope_type])
    embedding = LlamaRotaryEmbedding(theirs)
    # all positions at once, as in a prompt as long as sequences may be
    cos, sin = embedding(torch.zeros(1), torch.arange(num_positions)[None])
    table = cos_sin_table(rope, num_positions)
    assert table.shape == (num_positions, 16)
    assert table.dtype == torch.float32
    torch.testing.assert_close(table[:, :PAIRS], cos[0, :, :PAIRS], rtol=0, atol=1e-6)
    torch.testing.assert_close(table[:, PAIRS:], sin[0, :, :PAIRS], rtol=0, atol=1e-6)


def test_far_positions_round_as_transformers_rounds_them() -> None:
    rope, theirs = both(rope_type="default", rope_theta=500_000.0)
    cos, _ = LlamaRotaryEmbedding(theirs)(torch.zeros(1), torch.tensor([[99_999]]))
    exact = math.cos(99_999 * 500_000.0 ** (-2 / 16))
    ours = cos_sin_table(rope, 100_000)[99_999, :PAIRS]
    torch.testing.assert_close(ours, cos[0, 0, :PAIRS], rtol=0, atol=1e-6)
    assert abs(float(ours[1]) - exact) > 1e-4


_PARAMETERS = st.fixed_dictionaries(
    {
        "rope_type": st.sampled_from(["linear", "dynamic", "yarn", "llama3"]),
        "rope_theta": st.sampled_from([100.0, 10_000.0, 1e6]),
        "partial_rotary_factor": st.sampled_from([0.25, 0.5, 1.0]),
        "factor": st.floats(1.0, 40.0),
    }
)


@settings(max_examples=60)
@given(
    head_dim=st.sampled_from([16, 64, 80, 128]),
    common=_PARAMETERS,
    original=st.integers(64, 4096),
    betas=st.tuples(st.floats(8, 64), st.floats(0.5, 4)),
    truncate=st.booleans(),
)
def test_frequencies_are_those_of_transformers(
    head_dim: int,
    common: dict[str, Any],
    original: int,
    betas: tuple[float, float],
    truncate: bool,
) -> None:
    rope_type = common["rope_type"]
    further: dict[str, Any] = {
        "yarn": {"beta_fast": betas[0], "beta_slow": betas[1], "truncate": truncate},
        "llama3": {"low_freq_factor": betas[1], "high_freq_factor": betas[0]},
    }.get(rope_type, {})
    if further:
        further["original_max_position_embeddings"] = original
    parameters = {**common, **further}
    sizes: dict[str, Any] = {"max_position_embeddings": 8192, "head_dim": head_dim}
    theirs = transformers.LlamaConfig(**sizes, rope_parameters=dict(parameters))
    rope = config_from_hf(llama_values(**sizes, rope_parameters=parameters)).rope
    frequencies, magnitude = ROPE_INIT_FUNCTIONS[rope_type](theirs, torch.device("cpu"))
    torch.testing.assert_close(
        inverse_frequencies(rope, 8192), frequencies, rtol=1e-6, atol=0, check_dtype=True
    )
    torch.testing.assert_close(cos_sin_table(rope, 1)[0, 0], torch.tensor(magnitude))


@pytest.mark.parametrize(
    "further",
    [
        # a ramp of no length, and one whose end is past the last pair
        {"beta_fast": 2.0, "beta_slow": 2.0, "truncate": False},
        {"rope_theta": 4.0, "original_max_position_embeddings": 4096, "beta_fast": 1000.0},
    ],
)
def test_ramps_of_yarn_end_where_those_of_transformers_do(further: dict[str, Any]) -> None:
    rope, theirs = both(**{"rope_type": "yarn", "rope_theta": 100.0, **SCALINGS["yarn"], **further})
    frequencies, _ = ROPE_INIT_FUNCTIONS["yarn"](theirs, torch.device("cpu"))
    torch.testing.assert_close(inverse_frequencies(rope, 128), frequencies, rtol=1e-6, atol=0)


def test_longrope_takes_the_long_factors_past_the_length_in_training() -> None:
    rope, _ = both(rope_type="longrope", rope_theta=100.0, **SCALINGS["longrope"])
    assert isinstance(rope.scaling, LongRopeScaling)
    waves = 1.0 / inverse_frequencies(replace(rope, scaling=None), 1)
    for num_positions, factors in (
        (32, rope.scaling.short_factors),
        (33, rope.scaling.long_factors),
    ):
        stretched = 1.0 / inverse_frequencies(rope, num_positions)
        torch.testing.assert_close(stretched / waves, torch.tensor(factors))


def test_a_table_is_the_beginning_of_a_longer_one() -> None:
    rope = RopeConfig(rotary_dim=16)
    assert torch.equal(cos_sin_table(rope, 5000)[:4100], cos_sin_table(rope, 4100))
