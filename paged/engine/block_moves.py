"""Whole blocks moved before a step computes: to the host, back, and within a pool."""

from __future__ import annotations

import numpy as np
import torch

from paged.allocator.base import BlockMoves
from paged.engine.kv_pool import KVPools
from paged.kernel import op_call
from paged.scheduler.batch import Batch


def move_blocks(pools: KVPools, batch: Batch) -> None:
    """Make the moves of a batch in their order: swap out, swap in, copies.

    Mutates: pools, of every group alike.
    Raises: all that kernels raise.
    """
    for device, host in zip(pools.device, pools.host, strict=True):
        if len(batch.swap_out):
            _swap(device, host, batch.swap_out)
        if len(batch.swap_in):
            _swap(host, device, batch.swap_in)
        if len(batch.copies):
            op_call("copy_blocks", device, _pairs(batch.copies).to(device.device))


def _swap(source: torch.Tensor, destination: torch.Tensor, moves: BlockMoves) -> None:
    if source.is_cuda or destination.is_cuda:
        # careful: not at the top, for it loads the driver's copy engines
        from paged.kernel.swap import swap_blocks

        swap_blocks(source, destination, _pairs(moves))
    else:
        op_call("swap_blocks", source, destination, _pairs(moves))


def _pairs(moves: BlockMoves) -> torch.Tensor:
    """Return sources and destinations, int64 [num_moves, 2]."""
    return torch.from_numpy(np.stack([moves.src, moves.dst], axis=1))  # pyright: ignore[reportUnknownMemberType]
