"""Finding a family, by name or by what a config.json says."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from model_zoo import registry
from model_zoo.family import Family
from model_zoo.registry import FAMILIES, by_name, config_from_hf, find_family
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


def _module(name: str, **contents: object) -> ModuleType:
    module = ModuleType(name)
    vars(module).update(contents)
    return module


@pytest.mark.parametrize("contents", [{}, {"FAMILY": "phi3"}])
def test_a_module_without_a_family_is_named(contents: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=r"^mine: expected FAMILY to be a Family, got"):
        by_name([_module("mine", **contents)])


@pytest.mark.parametrize("kept", ["name", "architecture"])
def test_a_copied_file_does_not_take_the_models_of_its_original(kept: str) -> None:
    llama = FAMILIES["llama"]
    other = {"name": "mine", "architecture": "MineForCausalLM"}
    del other[kept]
    copy: Family = replace(llama, **other)
    with pytest.raises(ConfigError, match=rf"^copy: the {kept} '[Ll]lama\w*' is that of llama;"):
        by_name([_module("llama", FAMILY=llama), _module("copy", FAMILY=copy)])


def test_a_family_that_reads_under_another_name_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mine = replace(FAMILIES["llama"], name="mine", architecture="MineForCausalLM")
    monkeypatch.setattr(registry, "FAMILIES", {**FAMILIES, "mine": mine})
    with pytest.raises(ConfigError, match="'mine' reads a configuration of the family 'llama'"):
        config_from_hf(llama_values(architectures=["MineForCausalLM"]))
