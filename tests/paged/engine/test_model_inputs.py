"""Tensors of a step: what they hold, and that they stay where they are."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from paged.engine.model_inputs import ModelInputs


@pytest.fixture
def inputs() -> ModelInputs:
    return ModelInputs(
        max_tokens=16,
        max_rows=8,
        max_blocks_per_row=8,
        num_groups=2,
        device=torch.device("cpu"),
    )


def _batch(make_batch, *sequences: tuple[int, int, int, int]):
    batch = make_batch(*sequences)
    batch.tokens[:] = np.arange(8 * 128).reshape(8, 128)
    batch.tables.ids[:] = 10 * np.arange(8)[:, None] + np.arange(8)
    return batch


def test_sequences_are_laid_out_one_after_the_other(inputs: ModelInputs, make_batch) -> None:
    made = inputs.make(_batch(make_batch, (2, 15, 3, 1), (1, 4, 1, 1)), None)
    assert made.tokens.tolist() == [2 * 128 + 15, 2 * 128 + 16, 2 * 128 + 17, 128 + 4]
    assert made.positions.tolist() == [15, 16, 17, 4]
    assert made.query_start.tolist() == [0, 3, 4]
    assert made.seq_lens.tolist() == [18, 5]
    assert made.max_query_len == 3
    assert made.logit_rows is None
    assert len(made.groups) == 2
    assert made.groups[0].block_tables.tolist() == [[20, 21], [10, 11]]
    assert made.groups[0].block_tables.is_contiguous()
    assert made.groups[1].slot_mapping.tolist() == [20 * 16 + 15, 21 * 16, 21 * 16 + 1, 164]


def test_types_are_those_that_kernels_read(inputs: ModelInputs, make_batch) -> None:
    made = inputs.make(_batch(make_batch, (0, 0, 2, 1)), np.array([1]))
    assert made.tokens.dtype == made.query_start.dtype == made.seq_lens.dtype == torch.int32
    assert made.groups[0].block_tables.dtype == torch.int32
    assert made.positions.dtype == made.groups[0].slot_mapping.dtype == torch.int64
    assert made.logit_rows is not None
    assert made.logit_rows.tolist() == [1]


def test_addresses_stay_from_step_to_step(inputs: ModelInputs, make_batch) -> None:
    addresses = set()
    for count in (1, 5):
        made = inputs.make(_batch(make_batch, (0, 0, count, 1)), np.array([count - 1]))
        tensors = (made.tokens, made.positions, made.query_start, made.seq_lens, made.logit_rows)
        tables = (made.groups[0].block_tables, made.groups[0].slot_mapping)
        addresses.add(tuple(t.data_ptr() for t in (*tensors, *tables) if t is not None))
    assert len(addresses) == 1
