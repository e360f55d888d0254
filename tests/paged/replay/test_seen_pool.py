"""The pool and tables of a step: its shared blocks, and nothing else to be read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from paged.kernel.ops.attention_cases import POISON_BLOCK
from paged.replay.seen_pool import filled_slots
from tests.helpers.replayed_calls import WINDOWED, all_calls, operand


@pytest.mark.parametrize("op", ["attention", "gather_kv"])
def test_blocks_are_numbered_anew_and_stay_shared(op: str, grouped_run: Path) -> None:
    num_shared = 0
    for batch, call in all_calls(op, grouped_run):
        tables, pool = operand(op, call, "block_tables"), operand(op, call, "kv_pool")
        is_known = tables != POISON_BLOCK
        known = tables[is_known]
        assert sorted(set(known.tolist())) == list(range(len(pool)))
        # which entries are one block is as it was recorded
        ids = torch.from_numpy(batch.block_tables.astype(np.int64))[is_known]
        assert len(set(zip(known.tolist(), ids.tolist(), strict=True))) == len(pool)
        num_shared += len(known) - len(pool)
    assert num_shared


def test_slots_that_no_sequence_fills_are_poison(grouped_run: Path) -> None:
    pools = [
        operand("attention", call, "kv_pool") for _, call in all_calls("attention", grouped_run)
    ]
    assert sum(int(pool.isnan().any(dim=-1).sum()) for pool in pools)


def test_the_window_leaves_entries_out(grouped_run: Path) -> None:
    calls = all_calls("attention", grouped_run, WINDOWED)
    tables = [operand("attention", call, "block_tables") for _, call in calls]
    assert any((each[:, 0] == POISON_BLOCK).any() for each in tables)


def test_a_shared_block_is_filled_as_far_as_any_sequence_fills_it() -> None:
    is_seen = np.array([[True, True], [True, False]])
    filled = filled_slots(np.array([6, 2]), np.array([1, 0, 1]), is_seen, 4)
    assert filled.tolist() == [2, 4]
