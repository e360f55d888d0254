"""Where the files of a model are: a folder, one GGUF file, a hub id, or a known name."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from model_zoo.loading.download import SMOLLM2
from model_zoo.loading.gguf_file import GgufFile, read_gguf
from paged.errors import ModelFileError
from paged.shapes import MODELS as SHAPES

TINY = "tiny"
CONFIG = "config.json"
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
# Formats that run code when they are opened.
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle")
_FOLDER_HINT = "config.json, *.safetensors, tokenizer.json and tokenizer_config.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFiles:
    """A model that was found.

    folder: holds config.json, safetensors and the tokenizer; or
    gguf: the header of the file that holds everything. Neither: the seeded `tiny`.
    """

    name: str
    folder: Path | None = None
    gguf: GgufFile | None = None


def resolve(model: str) -> ModelFiles:
    """Find a model's files: nothing is fetched, and of a GGUF file only the header is read.

    model: `tiny`, `smollm2-135m` once it is downloaded, a folder, a .gguf file, or the id
    of a model in huggingface_hub's cache, `owner/name`.
    Raises ModelFileError, which says what to put where.
    """
    if model == TINY:
        return ModelFiles(name=model)
    if model == SMOLLM2.name:
        return ModelFiles(name=model, gguf=read_gguf(SMOLLM2.downloaded()))
    # os.path and not pathlib: a text that can be no path is no file, and no error.
    if os.path.isdir(model):
        return _in_folder(Path(model), Path(model).resolve().name)
    if os.path.isfile(model):
        return _one_file(Path(model))
    if _HUB_ID.fullmatch(model) and not model.endswith(".gguf"):
        return _in_hub_cache(model)
    if model in SHAPES:
        raise ModelFileError(
            f"of {model} only the shape is known, for `paged plan`: to load it name a folder with"
            f" {_FOLDER_HINT}, a .gguf file, or a hub id owner/name"
        )
    raise ModelFileError(
        f"no model {model!r:.200}: expected a folder with {_FOLDER_HINT}, a .gguf file, a hub id"
        f" owner/name, {SMOLLM2.name!r} or {TINY!r}"
    )


def _one_file(path: Path) -> ModelFiles:
    if path.suffix in _PICKLES:
        raise ModelFileError(
            f"{path}: pickled weights can run code and are never opened; convert them to"
            " safetensors (save_pretrained of transformers does)"
        )
    return ModelFiles(name=path.stem, gguf=read_gguf(path))


def _in_folder(folder: Path, name: str) -> ModelFiles:
    if (folder / CONFIG).is_file():
        return ModelFiles(name=name, folder=folder)
    found = sorted(folder.glob("*.gguf"))
    if len(found) == 1:
        return _one_file(found[0])
    if found:
        names = ", ".join(path.name for path in found[:5])
        raise ModelFileError(f"{folder}: holds {len(found)} GGUF files, name one of them: {names}")
    raise ModelFileError(f"{folder}: expected {_FOLDER_HINT}, or one .gguf file; there is neither")


def _in_hub_cache(hub_id: str) -> ModelFiles:
    from huggingface_hub import snapshot_download  # pyright: ignore[reportUnknownVariableType]
    from huggingface_hub.constants import HF_HUB_CACHE
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        folder = snapshot_download(hub_id, local_files_only=True)
    except (HFValidationError, LocalEntryNotFoundError) as error:
        raise ModelFileError(
            f"{hub_id} is neither a folder nor in {HF_HUB_CACHE}; where there is a network, run"
            f" `hf download {hub_id}`, or put {_FOLDER_HINT} into a folder and name that"
        ) from error
    return _in_folder(Path(folder), hub_id)
