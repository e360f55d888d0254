"""A model with int8 weights: rounding activations to 16 bits adds next to nothing."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import torch

from model_zoo.params import ModelParams
from paged.engine.llm_config import LLMConfig
from paged.engine.loaded_model import load_model
from paged.kernel.linear_weight import LinearWeight
from tests.helpers.ragged import RaggedRun

NUM_TOKENS = 100


def with_float_products(part: Any) -> Any:
    """Return parameters whose weights have the same values, and multiply floats."""
    weights = {
        field.name: LinearWeight.plain(value.dequantized(), value.bias).packed("float32")
        for field in fields(part)
        if isinstance(value := getattr(part, field.name), LinearWeight)
    }
    return replace(part, **weights)


def test_logits_are_those_of_float_products_but_for_16_bits() -> None:
    loaded = load_model(LLMConfig(model="tiny", device="cpu", quantization="int8"))
    exact: ModelParams = with_float_products(loaded.params)
    exact = replace(exact, layers=tuple(with_float_products(layer) for layer in exact.layers))
    source = torch.Generator().manual_seed(3)
    text = torch.randint(loaded.config.vocab_size, (NUM_TOKENS,), generator=source)
    got, expected = (
        RaggedRun(params, loaded.config, [text]).step([NUM_TOKENS])[0]
        for params in (loaded.params, exact)
    )
    error = (got - expected).square().mean().sqrt() / expected.square().mean().sqrt()
    # the largest of a panel has 15 bits, most have 13; 8 bits would give 100 times as much
    assert 0 < error < 1e-3
