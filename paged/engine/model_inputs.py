"""A scheduler's batch as the tensors that a model takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from model_zoo.batch import GroupTables, ModelBatch
from paged.scheduler.batch import Batch
from paged.types import IndexArray


class ModelInputs:
    """Persistent tensors that each step fills anew.

    A batch made by `make` is valid until the next. Addresses never change, so a captured
    graph can read them.
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
        self._num_groups = num_groups
        self._tokens = _Buffer(max_tokens, torch.int32, device)
        self._positions = _Buffer(max_tokens, torch.int64, device)
        self._slots = _Buffer(max_tokens, torch.int64, device)
        self._query_start = _Buffer(max_rows + 1, torch.int32, device)
        self._seq_lens = _Buffer(max_rows, torch.int32, device)
        self._tables = _Buffer(max_rows * max_blocks_per_row, torch.int32, device)
        self._logit_rows = _Buffer(max_tokens, torch.int64, device)

    def make(self, batch: Batch, logit_rows: IndexArray | None) -> ModelBatch:
        """Lay out the tokens of a step.

        logit_rows: flat tokens whose logits are wanted; None means all.
        Mutates: the tensors of the batch made before.
        """
        flat = batch.flatten()
        tables = batch.block_tables
        group = GroupTables(
            block_tables=self._tables.fill(tables).view(tables.shape),
            slot_mapping=self._slots.fill(flat.slot_mapping),
        )
        return ModelBatch(
            tokens=self._tokens.fill(flat.tokens),
            positions=self._positions.fill(flat.positions),
            query_start=self._query_start.fill(batch.query_start),
            seq_lens=self._seq_lens.fill(batch.seq_lens),
            max_query_len=int(batch.num_scheduled.max()),
            groups=(group,) * self._num_groups,
            logit_rows=None if logit_rows is None else self._logit_rows.fill(logit_rows),
        )


class _Buffer:
    """A tensor on the device, and the memory on the host that it is filled from."""

    def __init__(self, size: int, dtype: torch.dtype, device: torch.device) -> None:
        is_gpu = device.type == "cuda"
        self._host = torch.zeros(size, dtype=dtype, pin_memory=is_gpu)
        self._values: npt.NDArray[Any] = self._host.numpy()  # pyright: ignore[reportUnknownMemberType]
        self._device = torch.zeros(size, dtype=dtype, device=device) if is_gpu else self._host

    def fill(self, values: npt.NDArray[Any]) -> torch.Tensor:
        """Copy values, flattened, to the start of the tensor and return that part."""
        count = values.size
        np.copyto(self._values[:count].reshape(values.shape), values)
        part = self._device[:count]
        if self._device is not self._host:
            # careful: a step ends with its draws on the host, so the copy before is over
            part.copy_(self._host[:count], non_blocking=True)
        return part
