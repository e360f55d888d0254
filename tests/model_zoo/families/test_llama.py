"""Llama's logits, beside transformers': sizes, biases, tied embeddings, every rope scaling."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.helpers.hf_model import HfModel, check_logits

_LENGTHS = {"original_max_position_embeddings": 8}
_SCALINGS: list[dict[str, Any]] = [
    {"rope_type": "linear", "factor": 3.0},
    {"rope_type": "dynamic", "factor": 3.0},
    {"rope_type": "yarn", "factor": 4.0, "beta_fast": 4.0, **_LENGTHS},
    {
        **{"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0},
        **{"high_freq_factor": 4.0, **_LENGTHS},
    },
]
_LONGROPE = {
    "rope_type": "longrope",
    "short_factor": [1.0, 1.25, 1.5, 1.75, 2.0, 2.25],
    "long_factor": [1.5, 2.5, 3.5, 4.5, 5.5, 6.5],
    "original_max_position_embeddings": 16,
}


@pytest.mark.parametrize(
    "overrides",
    [
        {},
        {"tie_word_embeddings": True},
        {"attention_bias": True, "mlp_bias": True},
        {"num_key_value_heads": 4},
        {"num_key_value_heads": 1},
        {"head_dim": 64},
        {"head_dim": 80},
        {"head_dim": 128},
        {"rms_norm_eps": 1e-2},
    ],
    ids=lambda overrides: "_".join(overrides) or "plain",
)
def test_logits_are_those_of_transformers(overrides: dict[str, Any]) -> None:
    hf = HfModel("llama", **overrides)
    check_logits(hf, hf.config())


@pytest.mark.parametrize("scaling", _SCALINGS, ids=lambda scaling: scaling["rope_type"])
def test_scaled_embeddings_give_the_logits_of_transformers(scaling: dict[str, Any]) -> None:
    hf = HfModel("llama", rope_parameters={"rope_theta": 100.0, **scaling})
    older = {name: value for name, value in scaling.items() if name != "rope_type"}
    changes = {"rope_parameters": None, "rope_theta": 100.0}
    config = hf.config(**changes, rope_scaling={**older, "type": scaling["rope_type"]})
    assert config == hf.config()
    check_logits(hf, config)


@pytest.mark.parametrize("max_model_len", [16, 20])
def test_longrope_gives_the_logits_of_texts_as_long_as_may_be(max_model_len: int) -> None:
    """Transformers changes its mind while a text grows, which no batch of others may do to it."""
    hf = HfModel("llama", rope_parameters={"rope_theta": 100.0, **_LONGROPE})
    config = replace(hf.config(), max_model_len=max_model_len)
    check_logits(hf, config, lengths=(max_model_len,) * 2, chunk=7)


def test_dynamic_scaling_gives_the_logits_of_texts_as_long_as_may_be() -> None:
    hf = HfModel(
        "llama",
        max_position_embeddings=8,
        rope_parameters={"rope_theta": 100.0, "rope_type": "dynamic", "factor": 2.0},
    )
    config = replace(hf.config(), max_model_len=20)
    check_logits(hf, config, lengths=(20, 20), chunk=7)
