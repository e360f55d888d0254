"""Whole blocks moved before a step computes: to the host, back, and within a pool.

What goes to the host leaves while the step computes, but for blocks that the step writes: those
leave first, and the step waits. A later step that writes a block still leaving waits as well. What
comes from the host is there before the step computes, for the step reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from weakref import finalize

import numpy as np
import torch

from paged.allocator.base import BlockMoves
from paged.engine.copy_lane import Lane, Ticket
from paged.engine.kv_pool import KVPools, per_group
from paged.kernel import op_call
from paged.scheduler.batch import Batch
from paged.types import BoolArray, IndexArray

ByGroup = Sequence[BlockMoves]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Leaving:
    """Blocks of the device that are being read, by KV group."""

    moves: ByGroup
    ticket: Ticket


class BlockMover:
    """Makes the moves of batches, one batch after another, in the pools of all KV groups."""

    def __init__(self, pools: KVPools, lane: Lane) -> None:
        self._pools = pools
        self._lane = lane
        self._leaving: list[_Leaving] = []
        # careful: the pools may die with this object, and blocks may still be leaving
        finalize(self, lane.drain)

    def move(self, batch: Batch) -> None:
        """Make the moves of a batch in their order: swap out, swap in, copies.

        What is computed next finds them made wherever it reads and writes.
        Mutates: pools.
        Raises: all that kernels raise.
        """
        self._leaving = [each for each in self._leaving if not each.ticket.is_over]
        if not batch.num_moves and not self._leaving:
            return
        device, host = self._pools.device, self._pools.host
        if self._leaving or len(batch.swap_out):
            self._leave(batch)
        if len(batch.swap_in):
            incoming = self._by_group(batch.swap_in)
            self._lane.submit(lambda: _swap(host, device, incoming)).wait()
        if len(batch.copies):
            for pool, moves in zip(device, self._by_group(batch.copies), strict=True):
                if len(moves):
                    op_call("copy_blocks", pool, _pairs(moves).to(pool.device))

    def _leave(self, batch: Batch) -> None:
        """Start what is to leave, and wait for what leaves a block that the step writes."""
        device, host = self._pools.device, self._pools.host
        written = self._written(batch)
        for each in self._leaving:
            if any(is_hit.any() for is_hit in _hits(each.moves, written)):
                each.ticket.wait()
        outgoing = self._by_group(batch.swap_out)
        hits = _hits(outgoing, written)
        at_once, later = _chosen(outgoing, hits), _chosen(outgoing, [~is_hit for is_hit in hits])
        if any(map(len, at_once)):
            self._lane.submit(lambda: _swap(device, host, at_once)).wait()
        if any(map(len, later)):
            ticket = self._lane.submit(lambda: _swap(device, host, later))
            self._leaving.append(_Leaving(moves=later, ticket=ticket))

    def _written(self, batch: Batch) -> list[IndexArray]:
        """Return, by KV group, the blocks that the step writes where it computes."""
        blocks = [slots // batch.tables.block_size for slots in batch.flatten().slot_mappings]
        copies = self._by_group(batch.copies)
        by_group = zip(per_group(blocks, len(copies)), copies, strict=True)
        return [np.append(ids, each.dst) for ids, each in by_group]

    def _by_group(self, moves: BlockMoves) -> ByGroup:
        return [moves.of(group) for group in range(len(self._pools.device))]


def _hits(moves: ByGroup, written: Sequence[IndexArray]) -> list[BoolArray]:
    """Say which moves are out of blocks that are written."""
    return [np.isin(each.src, ids) for each, ids in zip(moves, written, strict=True)]


def _chosen(moves: ByGroup, is_chosen: Sequence[BoolArray]) -> ByGroup:
    return [
        BlockMoves(each.src[chosen], each.dst[chosen])
        for each, chosen in zip(moves, is_chosen, strict=True)
    ]


def _swap(
    sources: Sequence[torch.Tensor], destinations: Sequence[torch.Tensor], moves: ByGroup
) -> None:
    for source, destination, each in zip(sources, destinations, moves, strict=True):
        if len(each):
            _swap_group(source, destination, each)


def _swap_group(source: torch.Tensor, destination: torch.Tensor, moves: BlockMoves) -> None:
    if source.is_cuda or destination.is_cuda:
        # careful: not at the top, for it loads the driver's copy engines
        from paged.kernel.swap import swap_blocks

        swap_blocks(source, destination, _pairs(moves))
    else:
        op_call("swap_blocks", source, destination, _pairs(moves))


def _pairs(moves: BlockMoves) -> torch.Tensor:
    """Return sources and destinations, int64 [num_moves, 2]."""
    return torch.from_numpy(np.stack([moves.src, moves.dst], axis=1))  # pyright: ignore[reportUnknownMemberType]
