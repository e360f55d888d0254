"""How many sequences a KV pool holds at once, by the allocator's own account of one."""

from __future__ import annotations

import numpy as np

from paged.allocator.base import Allocator, Demand
from paged.allocator.grouped import GroupedAllocator
from paged.allocator.registry import make_allocator
from paged.allocator.usage import SlotUsage
from paged.config import CacheConfig
from paged.errors import OutOfBlocks
from paged.types import IndexArray


def max_concurrency(config: CacheConfig, num_tokens: int) -> int:
    """Count the sequences of num_tokens, half of them prompt, that a pool holds at once.

    One comes to an empty pool and grows to its end, step by step. Ranges of one size are cut
    from a pool without loss, so each of the others holds as much as it does.
    """
    allocator = make_allocator(config, max_rows=1)
    prompt = max(1, num_tokens // 2)
    demand = Demand(num_tokens=prompt, max_tokens=num_tokens, final_tokens=num_tokens)
    admission = allocator.admit(demand)
    if admission is None:
        return 0
    try:
        _complete(allocator, admission.rows, num_tokens, step=config.max_step_tokens or num_tokens)
    except OutOfBlocks:
        return 0
    return min(_share(usage) for usage in _usages(allocator))


def _complete(allocator: Allocator, rows: IndexArray, num_tokens: int, *, step: int) -> None:
    """Grow the one row to its last token; what its window has left goes between steps."""
    width = -(-num_tokens // allocator.block_size) * allocator.block_size
    tokens = np.zeros((1, width), np.int32)
    for length in (*range(step, num_tokens, step), num_tokens - 1, num_tokens):
        allocator.commit(rows, tokens)
        allocator.grow(rows, np.array([length]))


def _share(usage: SlotUsage) -> int:
    """How often what is held fits into the pool."""
    return usage.capacity // (usage.capacity - usage.free - usage.cached_free)


def _usages(allocator: Allocator) -> tuple[SlotUsage, ...]:
    """Slots of each pool."""
    if isinstance(allocator, GroupedAllocator):
        return allocator.group_usage(None)
    return (allocator.usage(None),)
