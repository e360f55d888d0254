"""The pool that the queries of a step see, and its block tables: no block more than these."""

from __future__ import annotations

import numpy as np
import torch

from paged.kernel.measure.contents import random_tensor
from paged.kernel.ops.attention_cases import POISON_BLOCK
from paged.replay.shape import ReplayShape
from paged.replay.step_problem import StepSource
from paged.scheduler.batch import Batch
from paged.types import BoolArray, IndexArray


def pool_and_tables(
    batch: Batch, shape: ReplayShape, source: StepSource, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a pool of one layer, and tables int32 [seqs, most blocks] into it.

    Blocks are numbered anew, in the order of their ids. Shared blocks stay shared. Slots that no
    sequence fills are NaN, and table entries that no query sees are out of range.
    """
    ids, is_seen = seen_blocks(batch, shape)
    known, numbers = np.unique(ids[is_seen], return_inverse=True)
    tables = np.full(ids.shape, POISON_BLOCK, np.int32)
    tables[is_seen] = numbers
    block_size = batch.tables.block_size
    pool = random_tensor(shape.pool_sizes(max(len(known), 1), block_size), shape.kv_t, generator)
    filled = filled_slots(batch.seq_lens, numbers, is_seen, block_size)
    blocks, slots = (np.arange(block_size) >= filled[:, None]).nonzero()
    pool[source.on_device(blocks), :, :, :, source.on_device(slots)] = torch.nan
    return pool, source.on_device(tables, np.int32)


def seen_blocks(batch: Batch, shape: ReplayShape) -> tuple[IndexArray, BoolArray]:
    """Return the group's table [seqs, most blocks], and which of its entries any query sees."""
    ids = batch.block_tables_of(shape.group).astype(np.int64)
    block_size = batch.tables.block_size
    columns: IndexArray = np.arange(ids.shape[1], dtype=np.int64)
    is_seen: BoolArray = columns * block_size < batch.seq_lens[:, None]
    if shape.window is not None:
        first_key = np.maximum(batch.num_computed + 1 - shape.window, 0)
        is_seen = is_seen & ((columns + 1) * block_size > first_key[:, None])
    return ids, is_seen


def filled_slots(
    seq_lens: IndexArray, numbers: IndexArray, is_seen: BoolArray, block_size: int
) -> IndexArray:
    """Return how many slots of each block hold keys of some sequence.

    numbers: of the entries of the table that are seen, row by row.
    """
    rows, columns = is_seen.nonzero()
    filled = np.zeros(max(int(numbers.max(initial=-1)) + 1, 1), np.int64)
    np.maximum.at(filled, numbers, np.minimum(seq_lens[rows] - columns * block_size, block_size))
    return filled
