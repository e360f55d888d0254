"""What the families' files have in common: sizes, windows, refusals."""

from __future__ import annotations

from typing import Any

import pytest

from model_zoo.registry import config_from_hf
from paged.errors import ConfigError
from tests.helpers.hf_values import llama_values, without


def qwen_values(**changes: Any) -> dict[str, Any]:
    return llama_values(
        architectures=["Qwen2ForCausalLM"], **{"num_hidden_layers": 4, "head_dim": 12, **changes}
    )


def test_every_field_is_read() -> None:
    config = config_from_hf(
        llama_values(attention_bias=True, mlp_bias=True, eos_token_id=[2, 7], rms_norm_eps=1e-4)
    )
    assert (config.num_layers, config.num_heads, config.num_kv_heads) == (2, 4, 2)
    assert (config.head_dim, config.hidden_size, config.intermediate_size) == (12, 48, 40)
    assert (config.vocab_size, config.max_model_len, config.norm_eps) == (61, 64, 1e-4)
    assert (config.qkv_bias, config.o_bias, config.mlp_bias) == (True, True, True)
    assert (config.qk_norm, config.tie_embeddings, config.dtype) == (False, False, "bfloat16")
    assert (config.bos_id, config.eos_ids) == (1, (2, 7))


def test_absent_fields_mean_what_transformers_takes_them_for() -> None:
    config = config_from_hf(
        without(llama_values(), "rms_norm_eps", "torch_dtype", "num_key_value_heads", "hidden_act")
    )
    assert (config.norm_eps, config.dtype, config.num_kv_heads) == (1e-6, "float32", 4)


def test_no_number_of_kv_heads_means_as_many_as_heads() -> None:
    values = llama_values(architectures=["MistralForCausalLM"], num_attention_heads=16, head_dim=4)
    assert config_from_hf({**values, "num_key_value_heads": None}).num_kv_heads == 16
    assert config_from_hf(without(values, "num_key_value_heads")).num_kv_heads == 8


@pytest.mark.parametrize("name", ["dtype", "torch_dtype"])
@pytest.mark.parametrize("text", ["float16", "torch.float16"])
def test_the_dtype_has_two_names_and_two_spellings(name: str, text: str) -> None:
    assert config_from_hf(without(llama_values(), "torch_dtype") | {name: text}).dtype == "float16"


@pytest.mark.parametrize(
    ("changes", "windows"),
    [
        ({}, (None,) * 4),
        ({"use_sliding_window": False, "sliding_window": 8}, (None,) * 4),
        ({"use_sliding_window": True, "max_window_layers": 2}, (None, None, 4096, 4096)),
        (
            {"use_sliding_window": True, "sliding_window": 8, "max_window_layers": 3},
            (None, None, None, 8),
        ),
        ({"use_sliding_window": True, "sliding_window": 8, "max_window_layers": 0}, (8,) * 4),
        ({"use_sliding_window": True, "sliding_window": 8}, (None,) * 4),
        (
            {"use_sliding_window": True, "sliding_window": None, "max_window_layers": 0},
            (None,) * 4,
        ),
        (
            {
                "use_sliding_window": True,
                "sliding_window": 8,
                "max_window_layers": 0,
                "layer_types": ["sliding_attention", "full_attention"] * 2,
            },
            (8, None, 8, None),
        ),
    ],
)
def test_windows_are_given_by_layer(
    changes: dict[str, Any], windows: tuple[int | None, ...]
) -> None:
    assert config_from_hf(qwen_values(**changes)).windows == windows


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"layer_types": ["full_attention"]}, "layer_types to name 4 layers, got 1"),
        (
            {"layer_types": ["chunked_attention"] * 4},
            "layer_types to be one of full_attention, sliding_attention, got 'chunked_attention'",
        ),
        ({"layer_types": ["sliding_attention"] * 4}, "there is no window; expected use_sliding"),
        ({"hidden_act": "gelu"}, "hidden_act to be one of silu, swish, got 'gelu'"),
        ({"quantization_config": {"quant_method": "awq"}}, "the checkpoint is quantised"),
        ({"head_dim": None, "hidden_size": 50}, "hidden_size to be a multiple of num_att.* 50 and"),
        ({"num_attention_heads": 0}, "expected num_attention_heads to be above 0, got 0"),
        ({"num_key_value_heads": -2}, "num_kv_heads from 1"),
        ({"num_key_value_heads": 0}, "num_kv_heads from 1"),
        ({"head_dim": 0}, "even rotary_dim above 0, got 0"),
        ({"num_hidden_layers": 10**6}, "num_hidden_layers to be at most 65536, got 1000000"),
        ({"torch_dtype": "float8"}, "dtype to be one of float32, bfloat16, float16"),
    ],
)
def test_what_is_not_computed_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        config_from_hf(qwen_values(**changes))
