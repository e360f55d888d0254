"""Qwen3's configuration and its logits, beside transformers'."""

from __future__ import annotations

from typing import Any

import pytest

from model_zoo.config import KVGroup
from model_zoo.registry import config_from_hf
from tests.helpers.hf_model import HfModel, check_logits
from tests.helpers.hf_values import llama_values

_LAYER_TYPES = ["sliding_attention", "full_attention", "sliding_attention"]


@pytest.mark.parametrize(
    "overrides",
    [
        {"head_dim": 16},
        {"head_dim": 64, "tie_word_embeddings": True},
        {"attention_bias": True, "head_dim": 16, "num_key_value_heads": 4},
    ],
)
def test_logits_are_those_of_transformers(overrides: dict[str, Any]) -> None:
    hf = HfModel("qwen3", **overrides)
    config = hf.config()
    assert config.qk_norm
    check_logits(hf, config)


def test_windows_may_alternate() -> None:
    hf = HfModel(
        "qwen3",
        head_dim=16,
        num_hidden_layers=3,
        use_sliding_window=True,
        sliding_window=4,
        layer_types=_LAYER_TYPES,
    )
    config = hf.config()
    assert config.kv_groups == (KVGroup(layers=(0, 2), window=4), KVGroup(layers=(1,), window=None))
    check_logits(hf, config)


def test_heads_that_are_not_named_have_128_elements() -> None:
    values = llama_values(architectures=["Qwen3ForCausalLM"])
    assert config_from_hf(values).head_dim == 128
    assert config_from_hf({**values, "head_dim": 24}).head_dim == 24
