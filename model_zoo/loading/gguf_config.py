"""A model's configuration from a GGUF file: its metadata in the words of a config.json."""

from __future__ import annotations

from dataclasses import replace

from model_zoo.config import ModelConfig
from model_zoo.loading.gguf_file import GgufFile
from model_zoo.loading.gguf_metadata import PREFIX, GgufMetadata, end_ids
from model_zoo.loading.gguf_values import read_values
from model_zoo.registry import config_from_hf
from model_zoo.rope_config import LongRopeScaling
from model_zoo.rope_fields import yarn_growth
from paged.errors import ConfigError, ModelFileError

FAMILIES = {
    "llama": "LlamaForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
}
"""Architectures by llama.cpp's names; its `llama` is Mistral too, where there is a window."""

FREQUENCIES = "rope_freqs.weight"
_EMBEDDING = "token_embd.weight"
_DTYPES = {0: "float32", 1: "float16"}
_DEFAULT_THETA = 10_000.0


def load_gguf_config(file: GgufFile) -> ModelConfig:
    """Read the configuration of a GGUF file. Raises ModelFileError or ConfigError."""
    metadata = file.metadata
    num_parts = metadata.integer("split.count") or 1
    if num_parts > 1:
        raise ModelFileError(
            f"{file.path}: expected a whole model, got one of {num_parts} parts of it; join them"
            " with `llama-gguf-split --merge`, and name the file that it makes"
        )
    key = "general.architecture"
    family = metadata.required(key, metadata.text(key))
    if family not in FAMILIES:
        raise ModelFileError(
            f"{file.path}: unknown architecture: expected {key} to be one of "
            f"{', '.join(FAMILIES)}, got {family!r:.60}; docs/models.md says how to add one"
        )
    if metadata.integer(f"{family}.expert_count"):
        raise ModelFileError(f"{file.path}: mixtures of experts are not supported")
    values = _sizes(file, family) | _rope(metadata, family) | _window(metadata, family)
    config = config_from_hf(values, source=str(file.path))
    config = replace(
        config,
        qkv_bias="blk.0.attn_q.bias" in file.tensors,
        o_bias="blk.0.attn_output.bias" in file.tensors,
        mlp_bias="blk.0.ffn_gate.bias" in file.tensors,
    )
    return _with_frequencies(file, config)


def _sizes(file: GgufFile, family: str) -> dict[str, object]:
    metadata = file.metadata

    def integer(name: str) -> int:
        return metadata.required(f"{family}.{name}", metadata.integer(f"{family}.{name}"))

    head_dim = metadata.integer(f"{family}.attention.key_length")
    value_dim = metadata.integer(f"{family}.attention.value_length")
    if head_dim != value_dim:
        raise ModelFileError(
            f"{file.path}: expected keys and values of one size, got {head_dim} and {value_dim}"
        )
    num_heads, hidden_size = integer("attention.head_count"), integer("embedding_length")
    epsilon_key = f"{family}.attention.layer_norm_rms_epsilon"
    embedding = file.tensors.get(_EMBEDDING)
    return {
        "num_hidden_layers": integer("block_count"),
        "num_attention_heads": num_heads,
        "num_key_value_heads": metadata.integer(f"{family}.attention.head_count_kv") or num_heads,
        "head_dim": head_dim or hidden_size // max(num_heads, 1),
        "hidden_size": hidden_size,
        "intermediate_size": integer("feed_forward_length"),
        "max_position_embeddings": integer("context_length"),
        "vocab_size": metadata.integer(f"{family}.vocab_size") or _num_tokens(metadata),
        "rms_norm_eps": metadata.required(epsilon_key, metadata.number(epsilon_key)),
        "tie_word_embeddings": "output.weight" not in file.tensors,
        "bos_token_id": metadata.integer(f"{PREFIX}.bos_token_id"),
        "eos_token_id": list(end_ids(metadata)),
        "dtype": _DTYPES.get(embedding.type_id if embedding else 0, "bfloat16"),
    }


def _num_tokens(metadata: GgufMetadata) -> int:
    key = f"{PREFIX}.tokens"
    return len(metadata.required(key, metadata.texts(key)))


def _rope(metadata: GgufMetadata, family: str) -> dict[str, object]:
    prefix = f"{family}.rope"
    theta = metadata.number(f"{prefix}.freq_base") or _DEFAULT_THETA
    head_dim = metadata.integer(f"{family}.attention.key_length")
    rotary_dim = metadata.integer(f"{prefix}.dimension_count")
    rope: dict[str, object] = {"rope_theta": theta}
    if head_dim and rotary_dim and rotary_dim != head_dim:
        rope["partial_rotary_factor"] = rotary_dim / head_dim
    return {"rope_parameters": rope | _scaling(metadata, f"{prefix}.scaling")}


def _scaling(metadata: GgufMetadata, prefix: str) -> dict[str, object]:
    kind = metadata.text(f"{prefix}.type") or "none"
    if kind == "none":
        return {}
    if kind not in ("linear", "yarn"):
        raise ModelFileError(
            f"{metadata.path}: {prefix}.type must be none, linear or yarn, got {kind!r:.60}"
        )
    factor = metadata.required(f"{prefix}.factor", metadata.number(f"{prefix}.factor"))
    if kind == "linear":
        return {"rope_type": kind, "factor": factor}
    scaling: dict[str, object] = {
        "rope_type": kind,
        "factor": factor,
        "original_max_position_embeddings": metadata.integer(f"{prefix}.original_context_length"),
        "beta_fast": metadata.number(f"{prefix}.yarn_beta_fast"),
        "beta_slow": metadata.number(f"{prefix}.yarn_beta_slow"),
    }
    share = metadata.number(f"{prefix}.attn_factor")
    if share is not None and factor > 0:
        # llama.cpp multiplies YaRN's own growth by it, transformers takes the product.
        scaling["attention_factor"] = share * yarn_growth(factor)
    return scaling


def _window(metadata: GgufMetadata, family: str) -> dict[str, object]:
    key = f"{family}.attention.sliding_window"
    window = metadata.integer(key)
    if window is None:
        return {"architectures": [FAMILIES[family]]}
    if family != "llama":
        raise ModelFileError(
            f"{metadata.path}: {key} is {window}, but which layers have the window is not said; "
            "use the model's folder, with its config.json, instead"
        )
    return {"architectures": ["MistralForCausalLM"], "sliding_window": window}


def _with_frequencies(file: GgufFile, config: ModelConfig) -> ModelConfig:
    """Return a configuration with the frequencies that Llama 3's files hold as a tensor.

    Each divides the frequency of one pair, as the factors of LongRoPE do.
    """
    tensor = file.tensors.get(FREQUENCIES)
    if tensor is None:
        return config
    pairs = (config.rope.rotary_dim // 2,)
    if tensor.shape != pairs or config.rope.scaling is not None:
        raise ModelFileError(
            f"{file.path}: expected {FREQUENCIES} of shape {pairs}, and no other scaling beside it,"
            f" got {tensor.shape} and {config.rope.scaling}"
        )
    factors = tuple(read_values(file, tensor).tolist())
    try:
        scaling = LongRopeScaling(
            short_factors=factors,
            long_factors=factors,
            original_positions=config.max_model_len,
            attention_factor=1.0,
        )
    except ConfigError as error:
        raise ConfigError(f"{file.path}: {FREQUENCIES}: {error}") from error
    return replace(config, rope=replace(config.rope, scaling=scaling))
