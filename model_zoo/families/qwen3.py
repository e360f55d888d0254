"""Qwen3, dense: norms on the heads of queries and keys, heads of their own size."""

from __future__ import annotations

from model_zoo.config import ModelConfig
from model_zoo.families.llama import NAMES as LLAMA_NAMES
from model_zoo.family import Family, Names
from model_zoo.fields import Fields
from model_zoo.hf_config import Sizes, layer_windows, read_config

# What a config.json without the field means. Source: transformers, Qwen3Config.
_DEFAULT_HEAD_DIM = 128

NAMES: Names = {
    **LLAMA_NAMES,
    "q_norm": ("model.layers.{layer}.self_attn.q_norm",),
    "k_norm": ("model.layers.{layer}.self_attn.k_norm",),
}


def _read(fields: Fields) -> ModelConfig:
    sizes = Sizes.read(fields, default_head_dim=_DEFAULT_HEAD_DIM)
    has_bias = fields.optional_boolean("attention_bias") or False
    return read_config(
        fields,
        sizes,
        family="qwen3",
        windows=layer_windows(fields, sizes.num_layers),
        qkv_bias=has_bias,
        o_bias=has_bias,
        qk_norm=True,
    )


FAMILY = Family(name="qwen3", architecture="Qwen3ForCausalLM", read=_read, names=NAMES)
