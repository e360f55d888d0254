"""What the families' config.json files have in common."""

from __future__ import annotations

from dataclasses import dataclass

from model_zoo.config import DTYPES, MAX_LAYERS, ModelConfig
from model_zoo.fields import Fields
from model_zoo.rope_fields import read_rope
from paged.errors import ConfigError

_SLIDING = "sliding_attention"
_ATTENTION_TYPES = ("full_attention", _SLIDING)

# What a config.json without the fields means. Source: transformers, Qwen2Config and others.
_DEFAULT_EPS = 1e-6
_DEFAULT_WINDOW = 4096
_DEFAULT_MAX_WINDOW_LAYERS = 28


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Sizes that every family names alike."""

    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    hidden_size: int

    @classmethod
    def read(
        cls,
        fields: Fields,
        *,
        default_kv_heads: int | None = None,
        default_head_dim: int | None = None,
    ) -> Sizes:
        """Return the sizes. Raises ConfigError for a missing or an impossible one.

        default_kv_heads: where there is no such field; None: as many as there are heads.
        default_head_dim: likewise; None: an even share of hidden_size.
        """
        num_heads = _positive(fields, "num_attention_heads")
        hidden_size = _positive(fields, "hidden_size")
        num_layers = _positive(fields, "num_hidden_layers")
        if num_layers > MAX_LAYERS:
            raise ConfigError(
                f"expected num_hidden_layers to be at most {MAX_LAYERS}, got {num_layers!s:.40}"
            )
        return cls(
            num_layers=num_layers,
            num_heads=num_heads,
            num_kv_heads=_num_kv_heads(fields, default_kv_heads, num_heads),
            head_dim=_head_dim(fields, default_head_dim, hidden_size, num_heads),
            hidden_size=hidden_size,
        )


def read_config(
    fields: Fields,
    sizes: Sizes,
    *,
    family: str,
    windows: tuple[int | None, ...],
    qkv_bias: bool = False,
    o_bias: bool = False,
    mlp_bias: bool = False,
    qk_norm: bool = False,
) -> ModelConfig:
    """Return a configuration from what a family knows and what all files say alike.

    family: its name. The rest as in `ModelConfig`.
    Raises: ConfigError, also for what no model here computes: other activations and quantised
    checkpoints.
    """
    activation = fields.optional_text("hidden_act") or "silu"
    fields.require_one_of("hidden_act", activation, ("silu", "swish"))
    if fields.optional_object("quantization_config") is not None:
        raise ConfigError(
            "the checkpoint is quantised (quantization_config), which is not"
            " read; use the original checkpoint or a GGUF file"
        )
    max_positions = _positive(fields, "max_position_embeddings")
    norm_eps = fields.optional_number("rms_norm_eps")
    return ModelConfig(
        family=family,
        num_layers=sizes.num_layers,
        num_heads=sizes.num_heads,
        num_kv_heads=sizes.num_kv_heads,
        head_dim=sizes.head_dim,
        hidden_size=sizes.hidden_size,
        intermediate_size=_positive(fields, "intermediate_size"),
        vocab_size=_positive(fields, "vocab_size"),
        max_model_len=max_positions,
        rope=read_rope(fields, head_dim=sizes.head_dim, max_positions=max_positions),
        windows=windows,
        norm_eps=_DEFAULT_EPS if norm_eps is None else norm_eps,
        tie_embeddings=fields.optional_boolean("tie_word_embeddings") or False,
        qkv_bias=qkv_bias,
        o_bias=o_bias,
        mlp_bias=mlp_bias,
        qk_norm=qk_norm,
        bos_id=fields.optional_integer("bos_token_id"),
        eos_ids=fields.ids("eos_token_id"),
        dtype=_dtype(fields),
    )


def sliding_window(fields: Fields) -> int | None:
    """Return the window of `sliding_window`: none where it is null. Raises ConfigError."""
    has_window = fields.has("sliding_window")
    return fields.optional_integer("sliding_window") if has_window else _DEFAULT_WINDOW


def layer_windows(fields: Fields, num_layers: int) -> tuple[int | None, ...]:
    """Return each layer's window as Qwen's files give it.

    `use_sliding_window` turns windows on, for the layers that `layer_types` lists, or without
    it for those from `max_window_layers` on. Raises ConfigError.
    """
    window = sliding_window(fields) if fields.optional_boolean("use_sliding_window") else None
    types = fields.optional_texts("layer_types")
    if types is None:
        first = fields.optional_integer("max_window_layers")
        first = _DEFAULT_MAX_WINDOW_LAYERS if first is None else first
        return tuple(window if layer >= first else None for layer in range(num_layers))
    for each in types:
        fields.require_one_of("layer_types", each, _ATTENTION_TYPES)
    if len(types) != num_layers:
        raise ConfigError(f"expected layer_types to name {num_layers} layers, got {len(types)}")
    if window is None and _SLIDING in types:
        raise ConfigError(
            "layer_types names sliding layers, but there is no window; expected"
            " use_sliding_window to be true and sliding_window a number of tokens"
        )
    return tuple(window if each == _SLIDING else None for each in types)


def _positive(fields: Fields, name: str) -> int:
    value = fields.integer(name)
    if value <= 0:
        raise ConfigError(f"expected {name} to be above 0, got {value!s:.40}")
    return value


def _num_kv_heads(fields: Fields, default: int | None, num_heads: int) -> int:
    # careful: null means as many as heads, in every family
    if default is not None and not fields.has("num_key_value_heads"):
        return default
    given = fields.optional_integer("num_key_value_heads")
    return num_heads if given is None else given


def _head_dim(fields: Fields, default: int | None, hidden_size: int, num_heads: int) -> int:
    given = fields.optional_integer("head_dim")
    if given is not None:
        return given
    if default is not None:
        return default
    if hidden_size % num_heads:
        raise ConfigError(
            "expected hidden_size to be a multiple of num_attention_heads where there is no"
            f" head_dim, got {hidden_size} and {num_heads}"
        )
    return hidden_size // num_heads


def _dtype(fields: Fields) -> str:
    named = fields.optional_text("dtype") or fields.optional_text("torch_dtype") or "float32"
    dtype = named.removeprefix("torch.")
    fields.require_one_of("dtype", dtype, tuple(DTYPES))
    return dtype
