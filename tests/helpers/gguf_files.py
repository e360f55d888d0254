"""GGUF files written by the `gguf` package: small models, and any keys and tensors."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from gguf.quants import quantize

from tests.helpers.hf_model import HfModel

Kind = gguf.GGMLQuantizationType

TOKENS = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(58))]
"""A vocabulary as long as that of the small models of transformers."""

_NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    **{f"self_attn.{name}_proj": f"attn_{name}" for name in "qkv"},
    "self_attn.o_proj": "attn_output",
    **{f"self_attn.{name}_norm": f"attn_{name}_norm" for name in "qk"},
    **{f"mlp.{name}_proj": f"ffn_{name}" for name in ("gate", "up", "down")},
}


def write_gguf(
    path: Path,
    keys: Mapping[str, Any],
    tensors: Mapping[str, np.ndarray] | None = None,
    *,
    kinds: Mapping[str, Kind] | None = None,
) -> Path:
    """Write a file. Keys of None are left out; kinds: how tensors are stored, else as float32."""
    keys = dict(keys)
    writer = gguf.GGUFWriter(path, keys.pop("general.architecture", "llama"))
    add: dict[type, Any] = {
        **{bool: writer.add_bool, int: writer.add_uint32, float: writer.add_float32},
        **{str: writer.add_string, list: writer.add_array},
    }
    for key, value in keys.items():
        if value is not None:
            add[type(value)](key, value)
    for name, values in (tensors or {}).items():
        kind = (kinds or {}).get(name, Kind.F32)
        writer.add_tensor(name, quantize(values, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def model_keys(hf: HfModel, family: str) -> dict[str, Any]:
    """Return the metadata that a converter writes for a model of transformers."""
    values = hf.values
    rope = values.get("rope_parameters") or {}
    head_dim = values.get("head_dim") or values["hidden_size"] // values["num_attention_heads"]
    own = {
        "block_count": values["num_hidden_layers"],
        "context_length": values["max_position_embeddings"],
        "embedding_length": values["hidden_size"],
        "feed_forward_length": values["intermediate_size"],
        "attention.head_count": values["num_attention_heads"],
        "attention.head_count_kv": values["num_key_value_heads"],
        "attention.layer_norm_rms_epsilon": float(values["rms_norm_eps"]),
        "rope.freq_base": float(rope.get("rope_theta", values.get("rope_theta", 1e4))),
        "attention.key_length": head_dim,
        "attention.value_length": head_dim,
        "rope.dimension_count": head_dim,
        "vocab_size": values["vocab_size"],
    }
    return {
        "general.architecture": family,
        "general.name": "small",
        **{f"{family}.{name}": value for name, value in own.items()},
        **tokenizer_keys(),
    }


def tokenizer_keys() -> dict[str, Any]:
    """Return the metadata of a vocabulary of single bytes."""
    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": TOKENS,
        "tokenizer.ggml.scores": [0.0] * len(TOKENS),
        "tokenizer.ggml.token_type": [2, 3, 3, *(6 for _ in TOKENS[3:])],
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
    }


def model_tensors(hf: HfModel, family: str) -> dict[str, np.ndarray]:
    """Return a model's tensors as a converter writes them."""
    values = hf.values
    heads = {"attn_q": values["num_attention_heads"], "attn_k": values["num_key_value_heads"]}
    tensors: dict[str, np.ndarray] = {}
    for name, tensor in hf.tensors().items():
        renamed = _renamed(name)
        module = renamed.split(".")[-2]
        is_woven = family == "llama" and module in heads
        stored = _woven(tensor, heads[module]) if is_woven else tensor
        tensors[renamed] = stored.numpy().copy()
    return tensors


def write_model(path: Path, hf: HfModel, family: str, **changes: Any) -> Path:
    """Write a model of transformers, with some of its keys changed, or left out by None."""
    keys = model_keys(hf, family) | changes
    return write_gguf(path, keys, model_tensors(hf, family))


@functools.cache
def small_llama() -> HfModel:
    """Return one model, made once."""
    return HfModel("llama")


def _renamed(name: str) -> str:
    module, part = name.rsplit(".", 1)
    layer = ""
    if module.startswith("model.layers."):
        _, _, number, module = module.split(".", 3)
        layer = f"blk.{number}."
    return f"{layer}{_NAMES[module]}.{part}"


def _woven(tensor: torch.Tensor, num_heads: int) -> torch.Tensor:
    """Put the halves of each head side by side, for llama.cpp turns neighbours."""
    halves = tensor.reshape(num_heads, 2, -1, *tensor.shape[1:])
    return halves.transpose(1, 2).reshape(tensor.shape)
