"""Mistral: Llama with one sliding window for all layers, or none."""

from __future__ import annotations

from model_zoo.config import ModelConfig
from model_zoo.families.llama import NAMES
from model_zoo.family import Family
from model_zoo.fields import Fields
from model_zoo.hf_config import Sizes, read_config, sliding_window

# What a config.json without the field means. Source: transformers, MistralConfig.
_DEFAULT_KV_HEADS = 8


def _read(fields: Fields) -> ModelConfig:
    sizes = Sizes.read(fields, default_kv_heads=_DEFAULT_KV_HEADS)
    windows = (sliding_window(fields),) * sizes.num_layers
    return read_config(fields, sizes, family="mistral", windows=windows)


FAMILY = Family(name="mistral", architecture="MistralForCausalLM", read=_read, names=NAMES)
