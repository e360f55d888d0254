"""Qwen2's logits, beside transformers'."""

from __future__ import annotations

from typing import Any

import pytest

from model_zoo.config import KVGroup
from tests.helpers.hf_model import HfModel, check_logits

_WINDOWED = {"use_sliding_window": True, "sliding_window": 5}


@pytest.mark.parametrize(
    "overrides",
    [
        {},
        {"tie_word_embeddings": True, "num_key_value_heads": 1},
        {**_WINDOWED, "max_window_layers": 0},
        {
            "rope_parameters": {
                **{"rope_type": "yarn", "factor": 4.0, "rope_theta": 1e4},
                "original_max_position_embeddings": 16,
            }
        },
    ],
)
def test_logits_are_those_of_transformers(overrides: dict[str, Any]) -> None:
    hf = HfModel("qwen2", **overrides)
    config = hf.config()
    assert config.qkv_bias
    assert not config.o_bias
    check_logits(hf, config)


def test_layers_with_and_without_a_window_have_pools_of_their_own() -> None:
    hf = HfModel("qwen2", num_hidden_layers=3, max_window_layers=1, **_WINDOWED)
    config = hf.config()
    assert config.kv_groups == (KVGroup(layers=(0,), window=None), KVGroup(layers=(1, 2), window=5))
    check_logits(hf, config)
