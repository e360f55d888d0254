"""Calls of the operations that move rows and blocks of the KV pool, to time them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import torch

from paged.kernel.dtypes import element_type
from paged.kernel.expression import cdiv
from paged.kernel.measure.contents import projected, random_tensor, rotary_table
from paged.kernel.ops.cache_problems import judged_problem
from paged.kernel.problem import Problem
from paged.kernel.registry import ops

_MAX_POSITIONS = 4096

_FEW_TOKENS, _FEW_SEQS = 128, 2
_FEW_PAIRS, _FEW_LAYERS = 2, 2

Call = tuple[tuple[torch.Tensor | None, ...], dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowShape:
    """Keys and values of some tokens of one layer."""

    num_tokens: int
    num_seqs: int = 1
    num_q_heads: int = 32
    num_kv_heads: int = 8
    head_dim: int = 128
    block_size: int = 16
    dtype: str = "bfloat16"

    @property
    def num_blocks(self) -> int:
        """Blocks of the pool: twice what the tokens fill."""
        return 2 * self.num_seqs * cdiv(self.num_tokens, self.num_seqs * self.block_size)

    @property
    def smaller(self) -> RowShape:
        """The same with few tokens."""
        return replace(
            self,
            num_tokens=min(self.num_tokens, _FEW_TOKENS),
            num_seqs=min(self.num_seqs, _FEW_SEQS),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockShape:
    """Whole blocks of all layers."""

    num_pairs: int
    num_layers: int = 32
    num_kv_heads: int = 8
    head_dim: int = 128
    block_size: int = 16
    dtype: str = "bfloat16"

    @property
    def smaller(self) -> BlockShape:
        """The same with few pairs and layers."""
        return replace(
            self,
            num_pairs=min(self.num_pairs, _FEW_PAIRS),
            num_layers=min(self.num_layers, _FEW_LAYERS),
        )


ROWS_ON_GPU = {
    "decode-b64": RowShape(num_tokens=64),
    "prefill-8k": RowShape(num_tokens=8192),
}
GATHER_ON_GPU = {
    "b1-s4k": RowShape(num_tokens=4096),
    "b8-s4k": RowShape(num_tokens=8 * 4096, num_seqs=8),
}
BLOCKS_ON_GPU = {
    "pairs-1": BlockShape(num_pairs=1),
    "pairs-32": BlockShape(num_pairs=32),
    "pairs-256": BlockShape(num_pairs=256),
}

_TINY_ROWS = RowShape(
    num_tokens=64, num_seqs=2, num_q_heads=8, num_kv_heads=2, head_dim=64, dtype="float16"
)
ROWS_ON_CPU = {"tiny": _TINY_ROWS}
BLOCKS_ON_CPU = {
    "tiny": BlockShape(num_pairs=4, num_layers=2, num_kv_heads=2, head_dim=64, dtype="float16")
}


def builds_of(
    op: str, *, on_gpu: bool, smaller: bool = False
) -> Mapping[str, Callable[[torch.device, int], Problem]]:
    """Return what makes an operation's calls, or smaller ones, by name of the workload.

    Equal shapes have one, which can be a key.
    """
    shapes = _shapes(op, on_gpu=on_gpu)
    return {n: _build_of(op, s.smaller if smaller else s) for n, s in shapes.items()}


def _shapes(op: str, *, on_gpu: bool) -> Mapping[str, RowShape | BlockShape]:
    if op in _BLOCK_OPS:
        return BLOCKS_ON_GPU if on_gpu else BLOCKS_ON_CPU
    if not on_gpu:
        return ROWS_ON_CPU
    return GATHER_ON_GPU if op == "gather_kv" else ROWS_ON_GPU


@lru_cache(maxsize=64)
def _build_of(op: str, shape: RowShape | BlockShape) -> Callable[[torch.device, int], Problem]:
    return partial(_build, op, shape)


def _build(op: str, shape: RowShape | BlockShape, device: torch.device, seed: int) -> Problem:
    operands, numbers = _CALLS[op](shape, torch.Generator(device).manual_seed(seed))
    return judged_problem(ops()[op], op, operands, numbers)


def _row_pool(shape: RowShape, source: torch.Generator) -> torch.Tensor:
    sizes = (shape.num_blocks, 1, 2, shape.num_kv_heads, shape.block_size, shape.head_dim)
    return random_tensor(sizes, shape.dtype, source)


def _slots(shape: RowShape, source: torch.Generator) -> torch.Tensor:
    """Return a slot for each token: consecutive ones in blocks of random order."""
    order = torch.randperm(shape.num_blocks, generator=source, device=source.device)
    offsets = torch.arange(shape.block_size, device=source.device)
    return (order[:, None] * shape.block_size + offsets).flatten()[: shape.num_tokens]


def _write_kv(shape: RowShape, source: torch.Generator) -> Call:
    heads = (shape.num_kv_heads,) * 2
    key, value = projected(shape.num_tokens, heads, shape.head_dim, shape.dtype, source)
    operands = (key, value, _row_pool(shape, source), _slots(shape, source), None)
    return operands, {"layer": 0}


def _rope_write_kv(shape: RowShape, source: torch.Generator) -> Call:
    heads = (shape.num_q_heads, shape.num_kv_heads, shape.num_kv_heads)
    query, key, value = projected(shape.num_tokens, heads, shape.head_dim, shape.dtype, source)
    positions = torch.arange(shape.num_tokens, device=source.device) % _MAX_POSITIONS
    cos_sin = rotary_table(_MAX_POSITIONS, shape.head_dim, source.device)
    pool, slots = _row_pool(shape, source), _slots(shape, source)
    operands = (query, key, value, pool, slots, positions, cos_sin, None)
    return operands, {"layer": 0, "interleaved": False}


def _gather_kv(shape: RowShape, source: torch.Generator) -> Call:
    seq_len = shape.num_tokens // shape.num_seqs
    starts = torch.arange(shape.num_seqs + 1, device=source.device) * seq_len
    order = torch.randperm(shape.num_blocks, generator=source, device=source.device)
    tables = order.view(shape.num_seqs, -1)[:, : cdiv(seq_len, shape.block_size)]
    like = torch.empty(0, dtype=element_type(shape.dtype).torch, device=source.device)
    operands = (
        _row_pool(shape, source),
        tables.to(torch.int32).contiguous(),
        starts.to(torch.int32),
        like,
        None,
    )
    return operands, {"layer": 0, "num_tokens": shape.num_tokens}


def _pairs(shape: BlockShape, source: torch.Generator) -> torch.Tensor:
    """Return distinct sources and destinations."""
    order = torch.randperm(2 * shape.num_pairs, generator=source, device=source.device)
    return order.view(2, -1).T.contiguous()


def _block_pool(shape: BlockShape, source: torch.Generator) -> torch.Tensor:
    of_block = (shape.num_layers, 2, shape.num_kv_heads, shape.block_size, shape.head_dim)
    return random_tensor((2 * shape.num_pairs, *of_block), shape.dtype, source)


def _copy_blocks(shape: BlockShape, source: torch.Generator) -> Call:
    return (_block_pool(shape, source), _pairs(shape, source)), {}


def _swap_blocks(shape: BlockShape, source: torch.Generator) -> Call:
    pools = (_block_pool(shape, source), _block_pool(shape, source))
    return (*pools, _pairs(shape, source)), {}


_BLOCK_OPS = ("copy_blocks", "swap_blocks")
_CALLS: Mapping[str, Callable[[Any, torch.Generator], Call]] = {
    "write_kv": _write_kv,
    "rope_write_kv": _rope_write_kv,
    "gather_kv": _gather_kv,
    "copy_blocks": _copy_blocks,
    "swap_blocks": _swap_blocks,
}
