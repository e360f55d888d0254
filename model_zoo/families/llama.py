"""Llama, and what shares its architecture: SmolLM2, TinyLlama, Yi and others."""

from __future__ import annotations

from model_zoo.config import ModelConfig
from model_zoo.family import Family, Names
from model_zoo.fields import Fields
from model_zoo.hf_config import Sizes, read_config

NAMES: Names = {
    "embedding": ("model.embed_tokens",),
    "attention_norm": ("model.layers.{layer}.input_layernorm",),
    "qkv": (
        "model.layers.{layer}.self_attn.q_proj",
        "model.layers.{layer}.self_attn.k_proj",
        "model.layers.{layer}.self_attn.v_proj",
    ),
    "o": ("model.layers.{layer}.self_attn.o_proj",),
    "mlp_norm": ("model.layers.{layer}.post_attention_layernorm",),
    "gate_up": (
        "model.layers.{layer}.mlp.gate_proj",
        "model.layers.{layer}.mlp.up_proj",
    ),
    "down": ("model.layers.{layer}.mlp.down_proj",),
    "final_norm": ("model.norm",),
    "lm_head": ("lm_head",),
}


def _read(fields: Fields) -> ModelConfig:
    sizes = Sizes.read(fields)
    has_bias = fields.optional_boolean("attention_bias") or False
    return read_config(
        fields,
        sizes,
        family="llama",
        windows=(None,) * sizes.num_layers,
        qkv_bias=has_bias,
        o_bias=has_bias,
        mlp_bias=fields.optional_boolean("mlp_bias") or False,
    )


FAMILY = Family(name="llama", architecture="LlamaForCausalLM", read=_read, names=NAMES)
