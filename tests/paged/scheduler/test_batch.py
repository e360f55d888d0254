"""The ragged batch: per-sequence arrays and their flat form, worked out by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from paged.allocator.base import BlockMoves
from paged.allocator.block_table import BlockTables
from paged.scheduler.batch import Batch, Finished
from paged.scheduler.request import FinishReason, Request


def _array(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@pytest.fixture
def tables() -> BlockTables:
    tables = BlockTables(max_rows=3, max_model_len=8, block_size=2)
    tables.take_rows(3)
    tables.ids[:] = [[9, 8, 7, 0], [1, 2, 3, 4], [5, 6, 0, 0]]
    return tables


@pytest.fixture
def batch(tables: BlockTables) -> Batch:
    """Row 2 decodes its fourth token, row 0 computes a chunk of three after one."""
    tokens = np.arange(24, dtype=np.int32).reshape(3, 8)
    return Batch(
        step=0,
        rows=_array(2, 0),
        num_computed=_array(3, 1),
        num_scheduled=_array(1, 3),
        num_samples=_array(1, 0),
        num_drawn=1,
        group_tables=(tables,),
        tokens=tokens,
        swap_out=BlockMoves(_array(1), _array(0)),
        copies=BlockMoves(_array(2, 3), _array(4, 5)),
    )


def test_counts(batch: Batch) -> None:
    assert (batch.num_seqs, batch.num_tokens, batch.num_context_tokens) == (2, 4, 8)
    assert batch.num_moves == 3


def test_arrays_by_sequence(batch: Batch) -> None:
    assert batch.seq_lens.tolist() == [4, 4]
    assert batch.query_start.tolist() == [0, 1, 4]
    assert batch.block_tables.tolist() == [[5, 6], [9, 8]]


def test_tokens_lie_one_after_the_other(batch: Batch) -> None:
    flat = batch.flatten()
    assert flat.positions.tolist() == [3, 1, 2, 3]
    assert flat.tokens.tolist() == [16 + 3, 1, 2, 3]
    # Block 6 slot 1; block 9 slot 1; block 8 slots 0 and 1.
    assert flat.slot_mapping.tolist() == [13, 19, 16, 17]


def test_a_batch_without_sequences_is_empty(tables: BlockTables) -> None:
    none = _array()
    batch = Batch(
        step=0,
        rows=none,
        num_computed=none,
        num_scheduled=none,
        num_samples=none,
        num_drawn=0,
        group_tables=(tables,),
        tokens=np.zeros((3, 8), np.int32),
    )
    assert (batch.num_seqs, batch.num_tokens, batch.num_context_tokens, batch.num_moves) == (
        *(0, 0, 0),
        0,
    )
    assert batch.query_start.tolist() == [0]
    assert batch.flatten().slot_mapping.tolist() == []


def test_output_length_leaves_out_the_prompt(make_request: Callable[..., Request]) -> None:
    finished = Finished(
        request=make_request("a", num_tokens=3),
        sequence_index=0,
        tokens=np.zeros(5, np.int32),
        reason=FinishReason.STOP,
        num_preemptions=0,
    )
    assert finished.num_new_tokens == 2


def test_each_kv_group_has_tables_of_its_own(batch: Batch, tables: BlockTables) -> None:
    other = BlockTables(max_rows=3, max_model_len=8, block_size=2)
    other.ids[:] = 10 + np.arange(12).reshape(3, 4)
    batch.group_tables = (tables, other)
    assert batch.tables is tables
    assert batch.block_tables_of(1).tolist() == [[18, 19], [10, 11]]
    first, second = batch.flatten().slot_mappings
    assert first.tolist() == [13, 19, 16, 17]
    assert second.tolist() == [39, 21, 22, 23]
