"""Mistral's configuration and its logits, beside transformers'."""

from __future__ import annotations

from typing import Any

import pytest

from model_zoo.config import KVGroup
from model_zoo.registry import config_from_hf
from tests.helpers.hf_model import HfModel, check_logits
from tests.helpers.hf_values import llama_values, without


@pytest.mark.parametrize("overrides", [{}, {"tie_word_embeddings": True}, {"head_dim": 16}])
@pytest.mark.parametrize("window", [None, 1, 4, 6])
def test_logits_are_those_of_transformers(window: int | None, overrides: dict[str, Any]) -> None:
    hf = HfModel("mistral", sliding_window=window, **overrides)
    config = hf.config()
    assert config.kv_groups == (KVGroup(layers=(0, 1), window=window),)
    check_logits(hf, config)


def test_a_window_that_is_not_named_is_the_one_of_the_first_mistral() -> None:
    values = llama_values(architectures=["MistralForCausalLM"], sliding_window=None)
    assert config_from_hf(values).windows == (None, None)
    assert config_from_hf(without(values, "sliding_window")).windows == (4096, 4096)
