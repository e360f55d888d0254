"""Qwen2 and Qwen2.5: Llama with biases on queries, keys and values, and windows by layer."""

from __future__ import annotations

from model_zoo.config import ModelConfig
from model_zoo.families.llama import NAMES
from model_zoo.family import Family
from model_zoo.fields import Fields
from model_zoo.hf_config import Sizes, layer_windows, read_config


def _read(fields: Fields) -> ModelConfig:
    sizes = Sizes.read(fields)
    windows = layer_windows(fields, sizes.num_layers)
    return read_config(fields, sizes, family="qwen2", windows=windows, qkv_bias=True)


FAMILY = Family(name="qwen2", architecture="Qwen2ForCausalLM", read=_read, names=NAMES)
