"""Parameters of a model: a tree of frozen dataclasses, tuples and tensors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import TypeVar, cast

import torch

from paged.kernel.linear_weight import LinearWeight

Tree = TypeVar("Tree")


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerParams:
    """Weights of one layer.

    Shapes: attention_norm, mlp_norm [hidden_size]; q_norm, k_norm [head_dim], None without
    norms of heads; qkv [(num_heads + 2 num_kv_heads) head_dim, hidden_size]; o [hidden_size,
    num_heads head_dim]; gate_up [2 intermediate_size, hidden_size], the gate's rows first; down
    [hidden_size, intermediate_size]. Norms have the dtype of activations.
    """

    attention_norm: torch.Tensor
    qkv: LinearWeight
    q_norm: torch.Tensor | None
    k_norm: torch.Tensor | None
    o: LinearWeight
    mlp_norm: torch.Tensor
    gate_up: LinearWeight
    down: LinearWeight


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelParams:
    """All weights of a model.

    Shapes: embedding [vocab_size, hidden_size]; final_norm [hidden_size], in the dtype of
    activations; lm_head [vocab_size, hidden_size], the very embedding where they are tied;
    cos_sin float32 [max_model_len, rotary_dim], as `rope.cos_sin_table` makes it.
    """

    embedding: LinearWeight
    layers: tuple[LayerParams, ...]
    final_norm: torch.Tensor
    lm_head: LinearWeight
    cos_sin: torch.Tensor


def tensors(tree: object, path: str = "") -> Iterator[tuple[str, torch.Tensor]]:
    """Yield every tensor of a tree with its path, such as `layers.0.attention_norm`."""
    if isinstance(tree, torch.Tensor):
        yield path, tree
        return
    for name, child in _children(tree):
        yield from tensors(child, f"{path}.{name}" if path else name)


def num_bytes(tree: object) -> int:
    """Return the bytes of all tensors; memory that several share counts once."""
    # careful: not of their storages, which other tensors may lie in too
    sizes: dict[int, int] = {}
    for _, tensor in tensors(tree):
        start = tensor.data_ptr()
        sizes[start] = max(sizes.get(start, 0), tensor.nbytes)
    return sum(sizes.values())


def _children(tree: object) -> Iterator[tuple[str, object]]:
    """Yield the fields of a dataclass, or the elements of a tuple by their index."""
    if isinstance(tree, tuple):
        for index, child in enumerate(cast("tuple[object, ...]", tree)):
            yield str(index), child
    elif is_dataclass(tree) and not isinstance(tree, type):
        for field in fields(tree):
            yield field.name, getattr(tree, field.name)
