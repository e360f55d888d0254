"""The memory that holds keys and values: one pool for each KV group, on device and host."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from model_zoo.config import ModelConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class KVPools:
    """Pools of all KV groups of a model; block i of every group belongs to the same tokens.

    device, host: a tensor for each group, [num_blocks, layers of the group, 2, num_kv_heads,
        block_size, head_dim]. Host pools are pinned where the device is a GPU.
    """

    device: tuple[torch.Tensor, ...]
    host: tuple[torch.Tensor, ...]

    @property
    def num_bytes(self) -> int:
        """Bytes of the pools on the device."""
        return sum(pool.nbytes for pool in self.device)


def block_bytes(config: ModelConfig, *, block_size: int, dtype: torch.dtype) -> int:
    """Bytes of one block in the pools of all groups."""
    values = 2 * config.num_layers * config.num_kv_heads * block_size * config.head_dim
    return values * dtype.itemsize


def make_pools(
    config: ModelConfig,
    *,
    num_blocks: int,
    num_host_blocks: int,
    block_size: int,
    dtype: torch.dtype,
    device: torch.device,
) -> KVPools:
    """Allocate the pools, filled with zeros.

    Raises: what torch raises where memory is short.
    """
    shapes = [
        (len(group.layers), 2, config.num_kv_heads, block_size, config.head_dim)
        for group in config.kv_groups
    ]
    is_gpu = device.type == "cuda"
    return KVPools(
        device=tuple(
            torch.zeros((num_blocks, *shape), dtype=dtype, device=device) for shape in shapes
        ),
        host=tuple(
            torch.zeros((num_host_blocks, *shape), dtype=dtype, pin_memory=is_gpu)
            for shape in shapes
        ),
    )
