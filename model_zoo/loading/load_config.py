"""The configuration of a model that was found."""

from __future__ import annotations

from model_zoo import tiny
from model_zoo.config import ModelConfig
from model_zoo.loading.files import ModelFiles
from model_zoo.loading.folder_config import load_folder_config
from model_zoo.loading.gguf_config import load_gguf_config


def load_config(files: ModelFiles) -> ModelConfig:
    """Read a model's configuration; no weights are read. Raises ModelFileError or ConfigError."""
    if files.gguf is not None:
        return load_gguf_config(files.gguf)
    if files.folder is not None:
        return load_folder_config(files.folder)
    return tiny.CONFIG
