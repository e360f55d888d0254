"""Mistral: Llama with one sliding window for all layers, or none."""

from __future__ import annotations

from model_zoo.config import ModelConfig
from model_zoo.families.llama import NAMES
from model_zoo.family import Family
from model_zoo.fields import Fields
from model_zoo.hf_config import Sizes, read_config

# What a config.json without the fields means. Source: transformers, MistralConfig.
_DEFAULT_WINDOW = 4096
_DEFAULT_KV_HEADS = 8


def _read(fields: Fields) -> ModelConfig:
    sizes = Sizes.read(fields, default_kv_heads=_DEFAULT_KV_HEADS)
    has_window = fields.has("sliding_window")
    window = fields.optional_integer("sliding_window") if has_window else _DEFAULT_WINDOW
    return read_config(fields, sizes, family="mistral", windows=(window,) * sizes.num_layers)


FAMILY = Family(name="mistral", architecture="MistralForCausalLM", read=_read, names=NAMES)
