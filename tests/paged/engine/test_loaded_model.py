"""Models in memory: types, devices, lengths, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from paged.engine.llm_config import LLMConfig
from paged.engine.loaded_model import LoadedModel, load_model
from paged.errors import BackendUnavailable, ConfigError, ModelFileError


def _load(**options: Any) -> LoadedModel:
    values: dict[str, Any] = {"model": "tiny", "device": "cpu"} | options
    return load_model(LLMConfig(**values))


@pytest.mark.parametrize(
    ("options", "kv_dtype"),
    [
        ({}, torch.bfloat16),
        ({"dtype": "float32"}, torch.float32),
        ({"dtype": "bfloat16"}, torch.bfloat16),
        ({"dtype": "float32", "kv_cache_dtype": "float16"}, torch.float16),
        ({"kv_cache_dtype": "float8_e4m3fn"}, torch.float8_e4m3fn),
        ({"quantization": "int8"}, torch.bfloat16),
    ],
)
def test_the_pool_is_of_the_weights_type_unless_told_otherwise(
    options: dict[str, Any], kv_dtype: torch.dtype
) -> None:
    loaded = _load(**options)
    assert loaded.kv_dtype is kv_dtype
    # Activations on the CPU.
    assert loaded.params.final_norm.dtype is torch.float32


def test_weights_are_of_the_type_asked_for() -> None:
    exact = _load(dtype="float32").params.layers[0].qkv.dequantized()
    rounded = _load(dtype="bfloat16").params.layers[0].qkv.dequantized()
    assert torch.equal(exact.bfloat16().float(), rounded)
    assert not torch.equal(exact, rounded)


def test_a_chat_template_stands_for_the_models_own() -> None:
    tokenizer = _load(chat_template="own {{ messages[0].content }}").tokenizer
    assert tokenizer.apply_chat_template([{"role": "user", "content": "hi"}]) == "own hi"


def test_sequences_are_as_long_as_asked_for() -> None:
    loaded = _load(max_model_len=50)
    assert loaded.config.max_model_len == 50
    assert loaded.params.cos_sin.shape[0] == 50
    assert _load().config.max_model_len == 1024


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"max_model_len": 1025}, ConfigError, "the model allows at most 1024, got 1025"),
        ({"device": "cpu:x"}, ConfigError, "device must be cpu, cuda or cuda:N, got 'cpu:x'"),
        ({"device": "meta"}, ConfigError, "device must be cpu, cuda or cuda:N, got 'meta'"),
        ({"device": "cuda:99"}, BackendUnavailable, "device cuda:99: torch finds . GPUs"),
        ({"model": "nowhere"}, ModelFileError, "no model 'nowhere'"),
        ({"dtype": "float16"}, ConfigError, "on the CPU the dtype must be one of"),
        ({"quantization": "int3"}, ConfigError, "quantization must be one of int8, got 'int3'"),
    ],
)
def test_what_cannot_be_met_is_refused(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        _load(**options)
