"""The weights of a model that was found, leaf by leaf into the form that kernels read."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch

from model_zoo.config import ModelConfig
from model_zoo.init import random_params
from model_zoo.loading.files import ModelFiles
from model_zoo.loading.gguf_source import GgufSource
from model_zoo.loading.safetensors_source import SafetensorsSource
from model_zoo.loading.tensor_source import TensorSource
from model_zoo.params import ModelParams
from model_zoo.weights import WeightTarget, build_params, is_ignored, weight_map
from paged.errors import ConfigError, ModelFileError
from paged.kernel.huge_pages import HugePages
from paged.kernel.linear_weight import LinearWeight, WeightType

QUANTIZATIONS = ("int8",)
_HOST_TYPES: Mapping[torch.dtype, WeightType] = {
    torch.bfloat16: "bfloat16",
    torch.float32: "float32",
}
_MOST_NAMES = 5

Pack = Callable[[LinearWeight], LinearWeight]


def load_params(
    files: ModelFiles,
    config: ModelConfig,
    *,
    dtype: torch.dtype,
    device: torch.device,
    quantization: str | None = None,
) -> ModelParams:
    """Read a model's weights; one leaf at a time is held twice.

    dtype: of the matrices; norms have the dtype of activations, float32 on the CPU.
    quantization: None, or `int8`, on the CPU: matrices as integers, a scale for each row.
    Raises ModelFileError for tensors that are missing, unknown, not finite or of another shape,
    ConfigError for a type that the device does not have.
    """
    pack = _packing(dtype, device, quantization)
    stored = torch.float32 if quantization is not None else dtype
    vector_dtype = torch.float32 if device.type == "cpu" else dtype
    source = _source(files, config)
    if source is None:
        # Without a type of its own: rounded once, where it is packed.
        return random_params(config, dtype=vector_dtype, device=device, pack=pack)
    leaves = _Leaves(source, config)

    def linear(path: str) -> LinearWeight:
        weight, bias = leaves.read(path, "weight", stored), None
        if leaves.has(path, "bias"):
            bias = leaves.read(path, "bias", vector_dtype).to(device)
        return pack(LinearWeight.plain(weight.to(device), bias))

    def vector(path: str) -> torch.Tensor:
        return leaves.read(path, "weight", vector_dtype).to(device)

    return build_params(config, linear=linear, vector=vector)


def _packing(dtype: torch.dtype, device: torch.device, quantization: str | None) -> Pack:
    if quantization is not None and quantization not in QUANTIZATIONS:
        raise ConfigError(
            f"quantization must be one of {', '.join(QUANTIZATIONS)}, got {quantization!r:.40}"
        )
    if device.type != "cpu":
        if quantization is not None:
            raise ConfigError(f"quantization {quantization} runs on the CPU, got device {device}")
        return lambda weight: weight
    if dtype not in _HOST_TYPES:
        known = ", ".join(str(known).removeprefix("torch.") for known in _HOST_TYPES)
        raise ConfigError(f"on the CPU the dtype must be one of {known}, got {dtype}")
    packed: WeightType = "int8" if quantization is not None else _HOST_TYPES[dtype]
    pages = HugePages()
    return lambda weight: weight.packed(packed, place=pages.place)


def _source(files: ModelFiles, config: ModelConfig) -> TensorSource | None:
    """Return where weights come from, None for the seeded `tiny`."""
    if files.gguf is not None:
        return GgufSource(files.gguf, config)
    return None if files.folder is None else SafetensorsSource(files.folder)


class _Leaves:
    """Leaves of the parameter tree, each joined from the tensors that it stacks."""

    def __init__(self, source: TensorSource, config: ModelConfig) -> None:
        self._source = source
        self._tensors: dict[tuple[str, str], list[tuple[str, WeightTarget]]] = {}
        targets = weight_map(config)
        _check_names(source, config, targets)
        for name, target in targets.items():
            self._tensors.setdefault((target.leaf, target.part), []).append((name, target))

    def has(self, path: str, part: str) -> bool:
        """Say whether a leaf has such a part."""
        return (path, part) in self._tensors

    def read(self, path: str, part: str, dtype: torch.dtype) -> torch.Tensor:
        """Read one part of a leaf. Raises ModelFileError."""
        tensors = self._tensors[path, part]
        num_rows = sum(target.shape[0] for _, target in tensors)
        joined = torch.empty((num_rows, *tensors[0][1].shape[1:]), dtype=dtype)
        for name, target in tensors:
            rows = joined[target.first_row : target.first_row + target.shape[0]]
            self._source.read_into(name, rows)
            if not _is_finite(rows):
                raise ModelFileError(
                    f"{self._source.source}: tensor {name} holds values that are not finite in "
                    f"{dtype}: the file is damaged, or made for a wider type"
                )
        return joined


def _is_finite(values: torch.Tensor) -> bool:
    # A sum is many times faster, and finite only if all are; a sum may overflow where none does.
    return bool(torch.isfinite(values.sum()) or torch.isfinite(values).all())


def _check_names(
    source: TensorSource, config: ModelConfig, targets: Mapping[str, WeightTarget]
) -> None:
    shapes = source.shapes
    missing = [name for name in targets if name not in shapes]
    unknown = [name for name in shapes if name not in targets and not is_ignored(config, name)]
    if missing or unknown:
        raise ModelFileError(
            f"{source.source}: the tensors are not those of a {config.family} model of this "
            f"configuration; missing: {_listed(missing)}; unknown: {_listed(unknown)}"
        )
    for name, target in targets.items():
        if shapes[name] != target.shape:
            raise ModelFileError(
                f"{source.source}: tensor {name}: expected shape {target.shape} by the "
                f"configuration, got {shapes[name]}"
            )


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMES]) or "none"
    return f"{shown} and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else shown
