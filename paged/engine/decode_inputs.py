"""A decode step as tensors of a fixed size at fixed addresses, which a recording reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from model_zoo.batch import GroupTables, ModelBatch
from paged.engine.kv_pool import per_group
from paged.engine.step_buffer import StepBuffer
from paged.scheduler.batch import Batch

NO_SLOT = -1


class DecodeInputs:
    """Persistent tensors of steps with one token for each sequence, padded at their end.

    All sizes share the memory: a batch of one is the start of a batch of another.

        rows       0 ........ num_seqs - 1 | num_seqs .... size - 1
        tokens     drawn last              | 0, at position 0
        slots      where K and V go        | -1: nothing is stored
        seq_lens   keys of the sequence    | 0: nothing is read
        tables     blocks, then any        | any
    """

    def __init__(
        self, *, max_rows: int, max_blocks_per_row: int, num_groups: int, device: torch.device
    ) -> None:
        # as embeddings read them: a recording would convert them at each step
        self._tokens = StepBuffer((max_rows,), torch.int64, device)
        self._positions = StepBuffer((max_rows,), torch.int64, device)
        self._query_start = StepBuffer((max_rows + 1,), torch.int32, device)
        self._seq_lens = StepBuffer((max_rows,), torch.int32, device)
        self._groups = tuple(
            (
                StepBuffer((max_rows, max_blocks_per_row), torch.int32, device),
                StepBuffer((max_rows,), torch.int64, device),
            )
            for _ in range(num_groups)
        )

    def batch(self, size: int) -> ModelBatch:
        """Return the tensors of so many rows, at the same addresses each time."""
        groups = tuple(
            GroupTables(block_tables=tables.tensor[:size], slot_mapping=slots.tensor[:size])
            for tables, slots in self._groups
        )
        return ModelBatch(
            tokens=self._tokens.tensor[:size],
            positions=self._positions.tensor[:size],
            query_start=self._query_start.tensor[: size + 1],
            seq_lens=self._seq_lens.tensor[:size],
            max_query_len=1,
            groups=groups,
        )

    def fill(self, batch: Batch, size: int) -> None:
        """Lay out a step of at most size sequences, one token each, and pad it.

        Mutates: the tensors of all sizes.
        """
        flat, num_seqs = batch.flatten(), batch.num_seqs
        _fill(self._tokens, flat.tokens, 0, size)
        _fill(self._positions, flat.positions, 0, size)
        _fill(self._seq_lens, batch.seq_lens, 0, size)
        np.minimum(np.arange(size + 1), num_seqs, out=self._query_start.begin()[: size + 1])
        self._query_start.send(size + 1)
        ids = [batch.block_tables_of(index) for index in range(len(batch.group_tables))]
        sources = per_group(list(zip(ids, flat.slot_mappings, strict=True)), len(self._groups))
        for (tables, slots), (blocks, mapping) in zip(self._groups, sources, strict=True):
            tables.begin()[:num_seqs, : blocks.shape[1]] = blocks
            tables.send(size)
            _fill(slots, mapping, NO_SLOT, size)

    def clear(self, size: int) -> None:
        """Make all of a batch padding, so that running it stores and reads nothing.

        Mutates: the tensors of all sizes.
        """
        for _, slots in self._groups:
            slots.begin()[:size] = NO_SLOT
            slots.send(size)
        for buffer, count in ((self._query_start, size + 1), (self._seq_lens, size)):
            buffer.begin()[:count] = 0
            buffer.send(count)


def _fill(buffer: StepBuffer, values: npt.NDArray[Any], padding: int, size: int) -> None:
    """Set the first values of a buffer, and pad it to so many."""
    target = buffer.begin()
    target[: len(values)] = values
    target[len(values) : size] = padding
    buffer.send(size)
