"""The configuration of a folder: config.json, and what generation_config.json says of ends."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from model_zoo.config import ModelConfig
from model_zoo.fields import Fields
from model_zoo.loading.files import CONFIG
from model_zoo.loading.json_file import read_object, read_object_if_present
from model_zoo.registry import config_from_hf
from paged.errors import ConfigError

_END = "eos_token_id"


def load_folder_config(folder: Path) -> ModelConfig:
    """Read a folder's configuration. Raises ModelFileError or ConfigError.

    The tokens that end an answer are those that generation_config.json lists, if it does.
    """
    path = folder / CONFIG
    values = read_object(path)
    ends = _generation_ends(folder) or _ends(path, values)
    return config_from_hf(values | {_END: list(ends)}, source=str(path))


def end_ids(folder: Path) -> tuple[int, ...]:
    """Return the ids that end an answer. Raises ModelFileError or ConfigError."""
    path = folder / CONFIG
    return _generation_ends(folder) or _ends(path, read_object_if_present(path))


def _generation_ends(folder: Path) -> tuple[int, ...]:
    path = folder / "generation_config.json"
    return _ends(path, read_object_if_present(path))


def _ends(path: Path, values: Mapping[str, object]) -> tuple[int, ...]:
    try:
        return Fields(values=values).ids(_END)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
