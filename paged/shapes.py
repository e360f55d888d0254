"""Shapes of models: what memory planning and time models need to know of them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import cast

from paged.errors import ConfigError

# Above the parameters of any model, and exact as a float.
_MAX_VALUE = 2**50
_MAX_NAME_CHARACTERS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """Geometry of a decoder-only transformer, or of one rank's share of it.

    num_params: weights in all, embeddings included.
    weight_bytes_per_param, kv_bytes_per_value: 2 for fp16 and bf16.
    """

    name: str
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    hidden_size: int
    intermediate_size: int
    vocab_size: int
    num_params: int
    weight_bytes_per_param: float = 2.0
    kv_bytes_per_value: int = 2

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            # careful: nan is above and below nothing.
            if field.name != "name" and not 0 < value <= _MAX_VALUE:
                raise ConfigError(
                    f"{self.name}: {field.name} must be above 0 and at most {_MAX_VALUE},"
                    f" got {value!s:.40}"
                )
        if self.num_heads % self.num_kv_heads:
            raise ConfigError(
                f"{self.name}: num_heads must be a multiple of num_kv_heads,"
                f" got {self.num_heads} and {self.num_kv_heads}"
            )

    @property
    def kv_bytes_per_token(self) -> int:
        """Bytes of K and V of one token in all layers."""
        values = 2 * self.num_layers * self.num_kv_heads * self.head_dim
        return values * self.kv_bytes_per_value

    @property
    def weight_bytes(self) -> int:
        """Bytes of all weights."""
        return round(self.num_params * self.weight_bytes_per_param)

    def shard(self, rank: int, world: int) -> ModelShape:
        """Shape of one tensor-parallel rank: heads, MLP columns and vocabulary split.

        K and V heads are replicated where there are fewer of them than ranks. A
        vocabulary that does not divide is padded. num_params is split evenly, which
        counts the norm vectors, that every rank holds, once.
        Raises ConfigError if rank is not below world or the heads do not divide.
        """
        if not 0 <= rank < world:
            raise ConfigError(f"rank must be in 0..world-1, got rank {rank} of world {world}")
        for name in ("num_heads", "intermediate_size"):
            if getattr(self, name) % world:
                raise ConfigError(
                    f"{self.name}: {name} {getattr(self, name)} cannot be split over"
                    f" {world} ranks; choose a world size that divides it"
                )
        small, large = sorted((self.num_kv_heads, world))
        if large % small:
            raise ConfigError(
                f"{self.name}: {self.num_kv_heads} K and V heads can be neither split over"
                f" nor replicated to {world} ranks; choose a multiple or a divisor"
            )
        return replace(
            self,
            num_heads=self.num_heads // world,
            num_kv_heads=max(1, self.num_kv_heads // world),
            intermediate_size=self.intermediate_size // world,
            vocab_size=-(-self.vocab_size // world),
            num_params=-(-self.num_params // world),
        )


def _shape(name: str, *sizes: int) -> ModelShape:
    layers, heads, kv_heads, head_dim, hidden, intermediate, vocab, params = sizes
    return ModelShape(
        name=name,
        num_layers=layers,
        num_heads=heads,
        num_kv_heads=kv_heads,
        head_dim=head_dim,
        hidden_size=hidden,
        intermediate_size=intermediate,
        vocab_size=vocab,
        num_params=params,
    )


# Source: the config.json that each model is published with; OPT also in table 1 of
# Zhang et al., 2022 (OPT-175B by its arithmetic). Parameters follow from the geometry
# (tests/paged/test_shapes.py derives them again).
# fmt: off
MODELS: dict[str, ModelShape] = {
    shape.name: shape
    for shape in (
        #      name            layers heads kv  dim hidden  mlp    vocab   params
        _shape("opt-13b",         40, 40, 40, 128,  5120, 20480,  50272,  12_853_473_280),
        _shape("opt-66b",         64, 72, 72, 128,  9216, 36864,  50272,  65_719_701_504),
        _shape("opt-175b",        96, 96, 96, 128, 12288, 49152,  50272, 174_604_468_224),
        _shape("llama-2-7b",      32, 32, 32, 128,  4096, 11008,  32000,   6_738_415_616),
        _shape("llama-2-13b",     40, 40, 40, 128,  5120, 13824,  32000,  13_015_864_320),
        _shape("llama-3-8b",      32, 32,  8, 128,  4096, 14336, 128256,   8_030_261_248),
        _shape("llama-3-70b",     80, 64,  8, 128,  8192, 28672, 128256,  70_553_706_496),
        _shape("mistral-7b",      32, 32,  8, 128,  4096, 14336,  32000,   7_241_732_096),
        _shape("qwen2.5-7b",      28, 28,  4, 128,  3584, 18944, 152064,   7_615_616_512),
        _shape("qwen3-8b",        36, 32,  8, 128,  4096, 12288, 151936,   8_190_735_360),
        _shape("smollm2-135m",    30,  9,  3,  64,   576,  1536,  49152,     134_515_008),
    )
}
# fmt: on


def find_shape(name_or_path: str) -> ModelShape:
    """Look a model up by name, or read its shape from a JSON file.

    The file holds one object whose keys are the fields of ModelShape; name and the
    bytes per value may be left out. Raises ConfigError.
    """
    if name_or_path in MODELS:
        return MODELS[name_or_path]
    # os.path and not pathlib: a text that can be no path is no file, and no error.
    if os.path.isfile(name_or_path):
        return _read_shape(Path(name_or_path))
    raise ConfigError(
        f"unknown model {name_or_path!r:.100}: expected a readable JSON file or one of"
        f" {', '.join(MODELS)}"
    )


def _read_shape(path: Path) -> ModelShape:
    try:
        content: object = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: expected a model shape in JSON: {error}") from error
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: expected one JSON object, got {type(content).__name__}")
    values = {"name": path.stem} | cast("dict[str, object]", content)
    _check_fields(path, values)
    return ModelShape(**values)  # pyright: ignore[reportArgumentType]


def _check_fields(path: Path, values: Mapping[str, object]) -> None:
    types = {field.name: str(field.type) for field in fields(ModelShape)}
    optional = ("weight_bytes_per_param", "kv_bytes_per_value")
    unknown = sorted(set(values) - set(types))
    missing = sorted(set(types) - set(values) - set(optional))
    if unknown or missing:
        raise ConfigError(
            f"{path}: expected the fields {', '.join(types)};"
            f" missing: {', '.join(missing) or 'none'};"
            f" unknown: {', '.join(unknown) or 'none':.200}"
        )
    accepted: dict[str, tuple[type, ...]] = {"str": (str,), "int": (int,), "float": (int, float)}
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, accepted[types[name]]):
            raise ConfigError(f"{path}: {name} must be of type {types[name]}, got {value!r:.40}")
    label = str(values["name"])
    if not (label.isprintable() and 0 < len(label) <= _MAX_NAME_CHARACTERS):
        raise ConfigError(
            f"{path}: expected a name of 1 to {_MAX_NAME_CHARACTERS} printable characters,"
            f" got {label!r:.40}"
        )
