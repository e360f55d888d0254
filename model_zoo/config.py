"""What a model is: sizes, biases, norms, rotary embedding and windows. No torch is needed."""

from __future__ import annotations

from dataclasses import dataclass, field

from model_zoo.rope_config import RopeConfig
from paged.errors import ConfigError
from paged.shapes import ModelShape

DTYPES = {"float32": 4, "bfloat16": 2, "float16": 2}
"""Types a checkpoint may be written in, and their bytes."""

MAX_LAYERS = 2**16
"""Above the layers of any model, and few enough to list."""

_MAX_SIZE = 2**31 - 1
_MAX_MODEL_LEN = 2**26
_MAX_PARAMS = 2**50
_SIZES = (
    *("num_layers", "num_heads", "num_kv_heads", "head_dim", "hidden_size"),
    *("intermediate_size", "vocab_size", "max_model_len"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KVGroup:
    """Layers that share a KV pool and a block table, for they keep the same tokens.

    layers: their numbers in the model, ascending; the first has index 0 in the pool.
    window: keys that a token sees, its own included; None sees all.
    """

    layers: tuple[int, ...]
    window: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerPlace:
    """Where a layer keeps its keys and values: a KV group, and its index in that pool."""

    group: int
    index: int
    window: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """A decoder-only transformer of the Llama kind.

    family: name of the family in `model_zoo.registry`.
    windows: for each layer the keys that a token sees, its own included; None sees all.
    max_model_len: most tokens a sequence may come to; as long is the table of angles.
    qk_norm: whether each head of queries and keys is normed before it is turned.
    dtype: type the checkpoint is written in.
    kv_groups: layers by window, in the order in which the windows first appear.
    places: for each layer its KV group and its index there.
    """

    family: str
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    hidden_size: int
    intermediate_size: int
    vocab_size: int
    max_model_len: int
    rope: RopeConfig
    windows: tuple[int | None, ...]
    norm_eps: float = 1e-6
    tie_embeddings: bool = False
    qkv_bias: bool = False
    o_bias: bool = False
    mlp_bias: bool = False
    qk_norm: bool = False
    bos_id: int | None = None
    eos_ids: tuple[int, ...] = ()
    dtype: str = "bfloat16"
    kv_groups: tuple[KVGroup, ...] = field(init=False, repr=False, compare=False)
    places: tuple[LayerPlace, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in _SIZES:
            most = {"num_layers": MAX_LAYERS, "max_model_len": _MAX_MODEL_LEN}.get(name, _MAX_SIZE)
            self._require(0 < getattr(self, name) <= most, f"{name} from 1 to {most}", name)
        self._require(
            self.num_heads % self.num_kv_heads == 0,
            "num_heads to be a multiple of num_kv_heads",
            *("num_heads", "num_kv_heads"),
        )
        self._require(self.num_params <= _MAX_PARAMS, "at most 2^50 weights", "num_params")
        self._require(0 < self.norm_eps < 1, "norm_eps between 0 and 1", "norm_eps")
        self._require(self.dtype in DTYPES, f"dtype to be one of {', '.join(DTYPES)}", "dtype")
        if self.rope.rotary_dim > self.head_dim:
            raise ConfigError(
                f"{self.family} model: expected rotary_dim to be at most head_dim,"
                f" got {self.rope.rotary_dim} and {self.head_dim}"
            )
        self._check_windows()
        self._check_ids()
        groups = _groups_of(self.windows)
        object.__setattr__(self, "kv_groups", groups)
        object.__setattr__(self, "places", _places_of(groups))

    @property
    def shape(self) -> ModelShape:
        """Geometry, for memory planning and time models."""
        width_bytes = DTYPES[self.dtype]
        return ModelShape(
            name=self.family,
            num_layers=self.num_layers,
            num_heads=self.num_heads,
            num_kv_heads=self.num_kv_heads,
            head_dim=self.head_dim,
            hidden_size=self.hidden_size,
            intermediate_size=self.intermediate_size,
            vocab_size=self.vocab_size,
            num_params=self.num_params,
            weight_bytes_per_param=width_bytes,
            kv_bytes_per_value=width_bytes,
        )

    @property
    def num_params(self) -> int:
        """Weights in all; tied embeddings count once."""
        hidden, mlp = self.hidden_size, self.intermediate_size
        q_rows, kv_rows = self.num_heads * self.head_dim, self.num_kv_heads * self.head_dim
        layer = (2 * q_rows + 2 * kv_rows + 3 * mlp + 2) * hidden
        layer += (q_rows + 2 * kv_rows) * self.qkv_bias + hidden * self.o_bias
        layer += (2 * mlp + hidden) * self.mlp_bias + 2 * self.head_dim * self.qk_norm
        embeddings = (1 if self.tie_embeddings else 2) * self.vocab_size * hidden
        return self.num_layers * layer + embeddings + hidden

    def _check_windows(self) -> None:
        if len(self.windows) != self.num_layers:
            raise ConfigError(
                f"{self.family} model: expected one window, or None, for each of"
                f" {self.num_layers} layers, got {len(self.windows)}"
            )
        for window in self.windows:
            if window is not None and not 0 < window <= _MAX_SIZE:
                raise ConfigError(
                    f"{self.family} model: expected windows from 1 to {_MAX_SIZE} keys or None,"
                    f" got {window}"
                )

    def _check_ids(self) -> None:
        ids = self.eos_ids if self.bos_id is None else (self.bos_id, *self.eos_ids)
        # An id past the vocabulary is never drawn, and published configurations do have some.
        for token in ids:
            if not 0 <= token <= _MAX_SIZE:
                raise ConfigError(
                    f"{self.family} model: expected the ids that start and end a text from 0 to"
                    f" {_MAX_SIZE}, got {token}"
                )

    def _require(self, holds: bool, expected: str, *names: str) -> None:
        if not holds:
            got = ", ".join(f"{name} {getattr(self, name)!s:.40}" for name in names)
            raise ConfigError(f"{self.family} model: expected {expected}, got {got}")


def _groups_of(windows: tuple[int | None, ...]) -> tuple[KVGroup, ...]:
    layers_of: dict[int | None, list[int]] = {}
    for layer, window in enumerate(windows):
        layers_of.setdefault(window, []).append(layer)
    return tuple(KVGroup(layers=tuple(of), window=window) for window, of in layers_of.items())


def _places_of(groups: tuple[KVGroup, ...]) -> tuple[LayerPlace, ...]:
    places = {
        layer: LayerPlace(group=number, index=index, window=group.window)
        for number, group in enumerate(groups)
        for index, layer in enumerate(group.layers)
    }
    return tuple(places[layer] for layer in sorted(places))
