"""The memory that holds keys and values: one pool for each KV group, on device and host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch

from model_zoo.config import ModelConfig
from paged.config import CacheConfig
from paged.kernel.huge_pages import HugePages

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class KVPools:
    """Pools of all KV groups of a model.

    Where groups share one block table, block i of each belongs to the same tokens.

    device, host: a tensor for each group, [num_blocks, layers of the group, 2, num_kv_heads,
        block_size, head_dim]. Host pools are pinned where the device is a GPU.
    """

    device: tuple[torch.Tensor, ...]
    host: tuple[torch.Tensor, ...]

    @property
    def num_bytes(self) -> int:
        """Bytes of the pools on the device."""
        return sum(pool.nbytes for pool in self.device)


def per_group(of_tables: Sequence[Value], num_groups: int) -> tuple[Value, ...]:
    """Return a value for each KV group, given one for each block table: one may serve all."""
    return tuple(of_tables) * (num_groups // len(of_tables))


def block_bytes(config: ModelConfig, *, block_size: int, dtype: torch.dtype) -> int:
    """Bytes of a block in the pool of each group, together."""
    values = 2 * config.num_layers * config.num_kv_heads * block_size * config.head_dim
    return values * dtype.itemsize


def make_pools(
    config: ModelConfig, cache: CacheConfig, *, dtype: torch.dtype, device: torch.device
) -> KVPools:
    """Allocate the pools, filled with zeros.

    Raises: MemoryError, or what torch raises, where memory is short.
    """
    groups = config.kv_groups
    is_gpu, pages = device.type == "cuda", HugePages()
    on_device: list[torch.Tensor] = []
    on_host: list[torch.Tensor] = []
    for group, size in zip(groups, per_group(cache.pools, len(groups)), strict=True):
        shape = (len(group.layers), 2, config.num_kv_heads, cache.block_size, config.head_dim)
        whole = (size.num_blocks, *shape)
        on_device.append(
            torch.zeros(whole, dtype=dtype, device=device) if is_gpu else pages.zeros(whole, dtype)
        )
        on_host.append(torch.zeros((size.num_host_blocks, *shape), dtype=dtype, pin_memory=is_gpu))
    return KVPools(device=tuple(on_device), host=tuple(on_host))
