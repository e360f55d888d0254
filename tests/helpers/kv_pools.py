"""Small KV pools of every memory layout, and huge ones of which only touched pages exist."""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import torch

# Axes block, layer, half, head, slot, element by their order in memory.
ORDERS: Mapping[str, tuple[int, ...]] = {
    "blocks": (0, 1, 2, 3, 4, 5),
    "tokens": (0, 1, 2, 4, 3, 5),
    "interleaved": (0, 1, 3, 4, 2, 5),
    "layers": (1, 0, 2, 3, 4, 5),
    "halves": (2, 1, 0, 3, 4, 5),
    "odd_pitch": (0, 1, 2, 3, 4, 5),
    "gaps": (0, 1, 2, 3, 4, 5),
}
_ODD_PITCH_ELEMENTS = 1
_MAP_NORESERVE = 0x4000


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolShape:
    """Sizes of a pool."""

    num_blocks: int = 6
    num_layers: int = 2
    num_kv_heads: int = 3
    block_size: int = 4
    head_dim: int = 16

    @property
    def sizes(self) -> tuple[int, ...]:
        """All axes."""
        blocks, layers, heads = self.num_blocks, self.num_layers, self.num_kv_heads
        return blocks, layers, 2, heads, self.block_size, self.head_dim

    @property
    def num_slots(self) -> int:
        """Slots of one layer."""
        return self.num_blocks * self.block_size


def make_pool(
    shape: PoolShape, dtype: torch.dtype, source: torch.Generator, layout: str = "blocks"
) -> torch.Tensor:
    """Return a pool of random numbers.

    `odd_pitch` puts one element between rows, `gaps` as many as a block has between blocks.
    """
    order = ORDERS[layout]
    sizes = [shape.sizes[axis] for axis in order]
    sizes[-1] += _ODD_PITCH_ELEMENTS if layout == "odd_pitch" else 0
    sizes[0] *= 2 if layout == "gaps" else 1
    memory = torch.randn(sizes, generator=source).to(dtype)
    pool = memory.permute([order.index(axis) for axis in range(6)])[..., : shape.head_dim]
    return pool[::2] if layout == "gaps" else pool


def sparse_tensor(sizes: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Return zeros of which only the pages that are touched take memory."""
    num_bytes = prod(sizes) * dtype.itemsize
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
    return torch.frombuffer(mmap.mmap(-1, num_bytes, flags=flags), dtype=dtype).view(sizes)


def fused_rows(
    sizes: tuple[int, int, int], dtype: torch.dtype, source: torch.Generator
) -> tuple[torch.Tensor, ...]:
    """Return three slices of one projection, as a model's query, key and value are.

    sizes: tokens, heads, elements of a head.
    """
    num_tokens, num_heads, head_dim = sizes
    fused = torch.randn((num_tokens, 3, num_heads, head_dim), generator=source).to(dtype)
    return fused.unbind(1)


def some_slots(shape: PoolShape, num_tokens: int, source: torch.Generator) -> torch.Tensor:
    """Return distinct slots in random order, the second and every fourth after it -1."""
    slots = torch.randperm(shape.num_slots, generator=source)[:num_tokens].clone()
    slots[1::4] = -1
    return slots


def some_scales(shape: PoolShape, source: torch.Generator) -> torch.Tensor:
    """Return scales, all different and none 1."""
    sizes = (shape.num_layers, 2, shape.num_kv_heads)
    return torch.rand(sizes, generator=source) * 0.4 + 0.1
