"""Finding a family, by name or by what a config.json says."""

from __future__ import annotations

from typing import Any

import pytest

from model_zoo.registry import FAMILIES, config_from_hf, find_family
from paged.errors import ConfigError
from tests.helpers.hf_values import llama_values, without


@pytest.mark.parametrize("name", FAMILIES)
def test_the_class_decides_and_without_it_the_model_type(name: str) -> None:
    values = llama_values(model_type=name, architectures=[FAMILIES[name].architecture])
    assert config_from_hf(values).family == name
    assert config_from_hf(without(values, "architectures")).family == name
    assert config_from_hf(values | {"model_type": "custom"}).family == name


@pytest.mark.parametrize(
    ("changes", "got"),
    [
        ({"architectures": ["LlamaForSequenceClassification"]}, "LlamaForSequenceClassification"),
        ({"architectures": ["Qwen3MoeForCausalLM"], "model_type": "llama"}, "Qwen3MoeForCausalLM"),
        ({"architectures": None, "model_type": "gpt2"}, "got model_type 'gpt2'"),
        ({"architectures": [], "model_type": None}, "got model_type None"),
    ],
)
def test_an_unknown_architecture_is_refused(changes: dict[str, Any], got: str) -> None:
    with pytest.raises(ConfigError, match=f"one of LlamaForCausalLM, .*{got}.*docs/models.md"):
        config_from_hf(llama_values(**changes))


def test_errors_name_the_file() -> None:
    with pytest.raises(ConfigError, match=r"^folder/config.json: the field vocab_size"):
        config_from_hf(without(llama_values(), "vocab_size"), source="folder/config.json")


def test_an_unknown_family_is_refused() -> None:
    with pytest.raises(ConfigError, match="'gpt2': expected one of llama, mistral, qwen2, qwen3"):
        find_family("gpt2")
