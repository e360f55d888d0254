"""The calls of a recorded step that move keys and values of its tokens."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from paged.kernel.dtypes import element_type
from paged.kernel.measure.contents import projected, random_tensor, rotary_table
from paged.replay.seen_pool import pool_and_tables
from paged.replay.shape import ReplayShape
from paged.replay.step_problem import StepProblem, StepSource, judged_step, size_text
from paged.scheduler.batch import Batch


def write_kv(batch: Batch, shape: ReplayShape, source: StepSource) -> Iterator[StepProblem]:
    """Yield the call of one layer, where the step computes anything."""
    if not batch.num_seqs:
        return
    generator = source.generator()
    pool, slots = _pool_and_slots(batch, shape, source, generator)
    heads = (shape.num_kv_heads,) * 2
    key, value = projected(batch.num_tokens, heads, shape.head_dim, shape.q_t, generator)
    operands = (key, value, pool, slots, None)
    yield judged_step("write_kv", source, size_text(batch, source.place), operands, {"layer": 0})


def rope_write_kv(batch: Batch, shape: ReplayShape, source: StepSource) -> Iterator[StepProblem]:
    """Yield the call of one layer, whole heads turned, where the step computes anything."""
    if not batch.num_seqs:
        return
    generator = source.generator()
    pool, slots = _pool_and_slots(batch, shape, source, generator)
    heads = (shape.num_kv_heads * shape.group_size, shape.num_kv_heads, shape.num_kv_heads)
    rows = projected(batch.num_tokens, heads, shape.head_dim, shape.q_t, generator)
    positions = batch.flatten().positions
    # an odd last element of a head is not turned
    rotary_dim = shape.head_dim // 2 * 2
    table = rotary_table(int(positions.max()) + 1, rotary_dim, source.device)
    operands = (*rows, pool, slots, source.on_device(positions), table, None)
    numbers = {"layer": 0, "interleaved": False}
    text = size_text(batch, source.place)
    yield judged_step("rope_write_kv", source, text, operands, numbers)


def gather_kv(batch: Batch, shape: ReplayShape, source: StepSource) -> Iterator[StepProblem]:
    """Yield the call of one layer that gathers all keys, where the step computes anything.

    Keys in blocks that windows have left are zeros.
    """
    if not batch.num_seqs:
        return
    pool, tables = pool_and_tables(batch, shape, source, source.generator())
    starts = np.concatenate([[0], np.cumsum(batch.seq_lens)])
    like = torch.empty(0, dtype=element_type(shape.q_t).torch, device=source.device)
    operands = (pool, tables, source.on_device(starts, np.int32), like, None)
    numbers = {"layer": 0, "num_tokens": batch.num_context_tokens}
    yield judged_step("gather_kv", source, size_text(batch, source.place), operands, numbers)


def _pool_and_slots(
    batch: Batch, shape: ReplayShape, source: StepSource, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a pool of the blocks that the step writes, and the slots in it of the tokens."""
    block_size = batch.tables.block_size
    blocks, offsets = np.divmod(batch.flatten().slot_mappings[shape.group], block_size)
    known, numbers = np.unique(blocks, return_inverse=True)
    pool = random_tensor(shape.pool_sizes(len(known), block_size), shape.kv_t, generator)
    return pool, source.on_device(numbers * block_size + offsets)
