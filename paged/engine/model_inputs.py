"""A scheduler's batch as the tensors that a model takes."""

from __future__ import annotations

import torch

from model_zoo.batch import GroupTables, ModelBatch
from paged.engine.kv_pool import per_group
from paged.engine.step_buffer import StepBuffer
from paged.scheduler.batch import Batch
from paged.types import IndexArray


class ModelInputs:
    """Persistent tensors that each step fills anew.

    A batch made by `make` is valid until the next.
    """

    def __init__(
        self,
        *,
        max_tokens: int,
        max_rows: int,
        max_blocks_per_row: int,
        num_groups: int,
        device: torch.device,
    ) -> None:
        self._tokens = StepBuffer((max_tokens,), torch.int32, device)
        self._positions = StepBuffer((max_tokens,), torch.int64, device)
        self._query_start = StepBuffer((max_rows + 1,), torch.int32, device)
        self._seq_lens = StepBuffer((max_rows,), torch.int32, device)
        self._groups = tuple(
            (
                StepBuffer((max_rows * max_blocks_per_row,), torch.int32, device),
                StepBuffer((max_tokens,), torch.int64, device),
            )
            for _ in range(num_groups)
        )
        self._logit_rows = StepBuffer((max_tokens,), torch.int64, device)

    def make(self, batch: Batch, logit_rows: IndexArray | None) -> ModelBatch:
        """Lay out the tokens of a step.

        logit_rows: flat tokens whose logits are wanted; None means all.
        Mutates: the tensors of the batch made before.
        """
        flat = batch.flatten()
        groups: list[GroupTables] = []
        for index, slots in enumerate(flat.slot_mappings):
            tables = batch.block_tables_of(index)
            of_tables, of_slots = self._groups[index]
            group = GroupTables(
                block_tables=of_tables.fill(tables).view(tables.shape),
                slot_mapping=of_slots.fill(slots),
            )
            groups.append(group)
        return ModelBatch(
            tokens=self._tokens.fill(flat.tokens),
            positions=self._positions.fill(flat.positions),
            query_start=self._query_start.fill(batch.query_start),
            seq_lens=self._seq_lens.fill(batch.seq_lens),
            max_query_len=int(batch.num_scheduled.max()),
            groups=per_group(groups, len(self._groups)),
            logit_rows=None if logit_rows is None else self._logit_rows.fill(logit_rows),
        )
