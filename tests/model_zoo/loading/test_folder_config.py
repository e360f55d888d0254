"""A folder's configuration, and which tokens end an answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from model_zoo.loading.folder_config import end_ids, load_folder_config
from paged.errors import ConfigError, ModelFileError
from tests.helpers.gguf_files import small_llama


def folder(path: Path, generation: dict[str, Any] | None = None, **changes: Any) -> Path:
    """Write a folder's configuration files."""
    (path / "config.json").write_text(json.dumps(small_llama().values | changes))
    if generation is not None:
        (path / "generation_config.json").write_text(json.dumps(generation))
    return path


def test_it_is_the_configuration_of_the_config_json(tmp_path: Path) -> None:
    assert load_folder_config(folder(tmp_path)) == small_llama().config()


@pytest.mark.parametrize(
    ("own", "generation", "expected"),
    [
        (2, None, (2,)),
        ([2, 5], None, (2, 5)),
        (None, None, ()),
        (2, {}, (2,)),
        (2, {"eos_token_id": [7, 8]}, (7, 8)),
        (2, {"eos_token_id": 7}, (7,)),
        (2, {"eos_token_id": None}, (2,)),
    ],
)
def test_ends_are_those_of_generation_if_it_lists_any(
    own: Any, generation: dict[str, Any] | None, expected: tuple[int, ...], tmp_path: Path
) -> None:
    folder(tmp_path, generation, eos_token_id=own)
    assert end_ids(tmp_path) == expected
    assert load_folder_config(tmp_path).eos_ids == expected


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"architectures": ["MambaForCausalLM"]}, "unknown architecture"),
        ({"hidden_size": "48"}, "hidden_size to be a whole number"),
        ({"eos_token_id": "</s>"}, "eos_token_id to be a token id"),
        ({"quantization_config": {"bits": 4}}, "quantised"),
    ],
)
def test_a_wrong_configuration_is_one_error(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=message) as raised:
        load_folder_config(folder(tmp_path, **changes))
    assert "config.json" in str(raised.value)


def test_a_folder_without_a_configuration_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"config\.json: the file is missing"):
        load_folder_config(tmp_path)
