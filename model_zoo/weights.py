"""From the tensors of a checkpoint to the leaves of a parameter tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from tqdm import tqdm

from model_zoo.config import ModelConfig
from model_zoo.family import Names
from model_zoo.params import LayerParams, ModelParams
from model_zoo.registry import find_family
from model_zoo.rope import cos_sin_table
from paged.kernel.linear_weight import LinearWeight

Part = Literal["weight", "bias"]
PATIENCE_S = 2.0
"""How long the leaves of a model are made before a terminal is shown how far they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafShape:
    """Geometry of a leaf.

    rows: of each of the matrices that it stacks: three for qkv, two for gate_up, one else.
    columns: None for a vector.
    """

    rows: tuple[int, ...]
    columns: int | None = None
    has_bias: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightTarget:
    """Where a tensor of a checkpoint goes.

    leaf: path in the tree, such as `embedding` or `layers.3.qkv`.
    part: the leaf's matrix (or vector), or its bias.
    first_row: row of the leaf that takes the tensor's first one.
    shape: what the tensor must have.
    """

    leaf: str
    part: Part
    first_row: int
    shape: tuple[int, ...]


def leaf_shapes(config: ModelConfig) -> Mapping[str, LeafShape]:
    """Return every leaf that a checkpoint fills, by path, in the order of the forward pass.

    Tied embeddings have no `lm_head`.
    """
    shapes: dict[str, LeafShape] = {"embedding": _vocabulary(config)}
    layer_leaves = _layer_leaves(config)
    for layer in range(config.num_layers):
        shapes |= {f"layers.{layer}.{leaf}": shape for leaf, shape in layer_leaves.items()}
    shapes["final_norm"] = LeafShape(rows=(config.hidden_size,))
    if not config.tie_embeddings:
        shapes["lm_head"] = _vocabulary(config)
    return shapes


def weight_map(config: ModelConfig) -> Mapping[str, WeightTarget]:
    """Return where each tensor of a checkpoint goes, by its name there.

    Tied embeddings: there is no head of its own in the map; see `is_ignored`.
    Raises ConfigError for an unknown family.
    """
    return weight_targets(config, find_family(config.family).names)


def weight_targets(config: ModelConfig, names: Names) -> Mapping[str, WeightTarget]:
    """Return the target of every tensor of a checkpoint, by its name there."""
    targets: dict[str, WeightTarget] = {}
    for path, shape in leaf_shapes(config).items():
        layer, leaf = _split(path)
        modules = names[leaf]
        rows = shape.rows if len(modules) > 1 else (sum(shape.rows),)
        first_row = 0
        for module, num_rows in zip(modules, rows, strict=True):
            matrix = (num_rows,) if shape.columns is None else (num_rows, shape.columns)
            sizes: dict[Part, tuple[int, ...]] = {"weight": matrix}
            if shape.has_bias:
                sizes["bias"] = (num_rows,)
            for part, size in sizes.items():
                targets[f"{module.format(layer=layer)}.{part}"] = WeightTarget(
                    leaf=path, part=part, first_row=first_row, shape=size
                )
            first_row += num_rows
    return targets


def is_ignored(config: ModelConfig, name: str) -> bool:
    """Say whether a checkpoint may hold a tensor that the model does without.

    That is a copy of tied embeddings, and the frequencies that old checkpoints store.
    """
    is_copy = config.tie_embeddings and name == "lm_head.weight"
    return is_copy or name.endswith(".rotary_emb.inv_freq")


def build_params(
    config: ModelConfig,
    *,
    linear: Callable[[str], LinearWeight],
    vector: Callable[[str], torch.Tensor],
) -> ModelParams:
    """Build a parameter tree of leaves that are made one by one, in the order of the forward pass.

    linear, vector: make the leaf of a path of `leaf_shapes`; norms in the dtype of activations.
    The table of angles goes to the device of the norms. A terminal is shown a bar where it lasts.
    """
    embedding = linear("embedding")
    numbers = tqdm(
        range(config.num_layers), unit="layer", delay=PATIENCE_S, leave=False, disable=None
    )
    layers = tuple(_layer(config, layer, linear, vector) for layer in numbers)
    final_norm = vector("final_norm")
    return ModelParams(
        embedding=embedding,
        layers=layers,
        final_norm=final_norm,
        lm_head=embedding if config.tie_embeddings else linear("lm_head"),
        cos_sin=cos_sin_table(config.rope, config.max_model_len).to(final_norm.device),
    )


def _layer(
    config: ModelConfig,
    layer: int,
    linear: Callable[[str], LinearWeight],
    vector: Callable[[str], torch.Tensor],
) -> LayerParams:
    prefix = f"layers.{layer}"
    return LayerParams(
        attention_norm=vector(f"{prefix}.attention_norm"),
        qkv=linear(f"{prefix}.qkv"),
        q_norm=vector(f"{prefix}.q_norm") if config.qk_norm else None,
        k_norm=vector(f"{prefix}.k_norm") if config.qk_norm else None,
        o=linear(f"{prefix}.o"),
        mlp_norm=vector(f"{prefix}.mlp_norm"),
        gate_up=linear(f"{prefix}.gate_up"),
        down=linear(f"{prefix}.down"),
    )


def _vocabulary(config: ModelConfig) -> LeafShape:
    return LeafShape(rows=(config.vocab_size,), columns=config.hidden_size)


def _layer_leaves(config: ModelConfig) -> Mapping[str, LeafShape]:
    hidden, mlp = config.hidden_size, config.intermediate_size
    q_rows, kv_rows = config.num_heads * config.head_dim, config.num_kv_heads * config.head_dim
    norm, head_norm = LeafShape(rows=(hidden,)), LeafShape(rows=(config.head_dim,))
    qkv = LeafShape(rows=(q_rows, kv_rows, kv_rows), columns=hidden, has_bias=config.qkv_bias)
    return {
        "attention_norm": norm,
        "qkv": qkv,
        **({"q_norm": head_norm, "k_norm": head_norm} if config.qk_norm else {}),
        "o": LeafShape(rows=(hidden,), columns=q_rows, has_bias=config.o_bias),
        "mlp_norm": norm,
        "gate_up": LeafShape(rows=(mlp, mlp), columns=hidden, has_bias=config.mlp_bias),
        "down": LeafShape(rows=(hidden,), columns=mlp, has_bias=config.mlp_bias),
    }


def _split(path: str) -> tuple[int | None, str]:
    """Return the layer, None outside of layers, and the leaf of a path."""
    *parents, leaf = path.split(".")
    return (int(parents[1]) if parents else None), leaf
