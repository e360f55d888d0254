"""The tensors of a folder's safetensors files, whole or sharded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

import torch

from model_zoo.loading.json_file import read_object
from paged.errors import ModelFileError

_WHOLE = "model.safetensors"
_INDEX = "model.safetensors.index.json"
_FLOATS = ("F64", "F32", "F16", "BF16")


class SafetensorsSource:
    """Implements the protocol `TensorSource`."""

    def __init__(self, folder: Path) -> None:
        self.source = str(folder)
        self._files: dict[str, Any] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        if (folder / _WHOLE).exists():
            self._add(folder / _WHOLE)
            return
        index = _index(folder)
        for name in sorted(set(index.values())):
            self._add(folder / name)
        _check_index(folder / _INDEX, index, self.shapes)

    def read_into(self, name: str, out: torch.Tensor) -> None:
        """Copy a tensor. Raises ModelFileError."""
        from safetensors import SafetensorError

        try:
            out.copy_(self._files[name].get_tensor(name))
        except (SafetensorError, OSError) as error:
            raise ModelFileError(f"{self.source}: cannot read {name}: {error!s:.200}") from error

    def _add(self, path: Path) -> None:
        from safetensors import SafetensorError, safe_open

        try:
            opened: Any = safe_open(path, framework="pt")
            for name in list(opened.keys()):
                part = opened.get_slice(name)
                self._add_tensor(path, name, str(part.get_dtype()), tuple(part.get_shape()))
                self._files[name] = opened
        except (SafetensorError, OSError) as error:
            raise ModelFileError(
                f"{path}: expected a safetensors file, got {error!s:.200}: "
                "it is missing, cut short or damaged; fetch it again"
            ) from error

    def _add_tensor(self, path: Path, name: str, dtype: str, shape: tuple[int, ...]) -> None:
        if name in self.shapes:
            raise ModelFileError(f"{path}: the tensor {name!r:.80} is in another shard too")
        if dtype not in _FLOATS:
            raise ModelFileError(
                f"{path}: tensor {name!r:.80}: expected one of {', '.join(_FLOATS)}, got {dtype}: "
                "the checkpoint is quantised; use the original one or a GGUF file"
            )
        self.shapes[name] = shape


def _index(folder: Path) -> Mapping[str, str]:
    """Return the shard of each tensor. Raises ModelFileError, also for one elsewhere."""
    path = folder / _INDEX
    if not path.exists():
        pickled = sorted(path.name for path in folder.glob("*.bin"))
        hint = f"; {pickled[0]} is a pickle, which is never opened" if pickled else ""
        raise ModelFileError(
            f"{folder}: expected {_WHOLE} or {_INDEX}, there is neither{hint}; save_pretrained of "
            "transformers writes them"
        )
    listed = read_object(path).get("weight_map")
    if not isinstance(listed, dict) or not listed:
        raise ModelFileError(
            f"{path}: expected weight_map, an object with the shard of each tensor"
        )
    shards = cast("dict[str, object]", listed)
    for name, shard in shards.items():
        is_plain = isinstance(shard, str) and shard == Path(shard).name and "\\" not in shard
        if not is_plain or not str(shard).endswith(".safetensors"):
            raise ModelFileError(
                f"{path}: expected the shard of {name!r:.80} to be a .safetensors file of this "
                f"folder, got {shard!r:.80}"
            )
    return cast("dict[str, str]", shards)


def _check_index(path: Path, index: Iterable[str], found: Iterable[str]) -> None:
    """Raise unless the shards hold what the index lists."""
    missing = sorted(set(index) - set(found))
    if missing:
        raise ModelFileError(
            f"{path}: lists {len(missing)} tensors that no shard holds, such as "
            f"{missing[0]!r:.80}: the shards are of another model; fetch them again"
        )
