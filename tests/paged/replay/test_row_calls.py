"""The calls that move rows: each token's slot, position and sequence are the recorded ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from paged.replay.shape import ReplayShape
from tests.helpers.replayed_calls import SHAPE, WINDOWED, all_calls, operand


@pytest.mark.parametrize("shape", [SHAPE, WINDOWED], ids=["first group", "window"])
@pytest.mark.parametrize("op", ["write_kv", "rope_write_kv"])
def test_slots_are_the_batch_s_in_blocks_numbered_anew(
    op: str, shape: ReplayShape, grouped_run: Path
) -> None:
    for batch, call in all_calls(op, grouped_run, shape):
        slots, recorded = operand(op, call, "slot_mapping"), batch.flatten().slot_mappings
        assert len(set(slots.tolist())) == len(slots) == batch.num_tokens
        blocks, offsets = np.divmod(recorded[shape.group], 4)
        assert (slots % 4).tolist() == offsets.tolist()
        known = np.unique(blocks)
        assert known[slots.numpy() // 4].tolist() == blocks.tolist()
        assert len(operand(op, call, "kv_pool")) == len(known)


def test_rows_are_slices_of_one_projection(grouped_run: Path) -> None:
    _, call = next(all_calls("rope_write_kv", grouped_run))
    shapes = [operand("rope_write_kv", call, name).shape[1:] for name in ("query", "key", "value")]
    assert shapes == [(4, 16), (2, 16), (2, 16)]
    assert operand("rope_write_kv", call, "key").stride() == (8 * 16, 16, 1)


def test_positions_are_the_batch_s_and_all_in_the_table(grouped_run: Path) -> None:
    for batch, call in all_calls("rope_write_kv", grouped_run):
        positions = operand("rope_write_kv", call, "positions")
        assert positions.tolist() == batch.flatten().positions.tolist()
        table = operand("rope_write_kv", call, "cos_sin")
        assert table.shape == (int(positions.max()) + 1, 16)


def test_all_keys_are_gathered(grouped_run: Path) -> None:
    for batch, call in all_calls("gather_kv", grouped_run):
        starts = operand("gather_kv", call, "kv_start")
        assert starts.tolist() == [0, *np.cumsum(batch.seq_lens).tolist()]
        key, value = call.exact()
        assert key.shape == value.shape == (batch.num_context_tokens, 2, 16)
        assert torch.isfinite(key).all()


def test_what_a_window_has_left_is_gathered_as_zeros(grouped_run: Path) -> None:
    keys = [call.exact()[0] for _, call in all_calls("gather_kv", grouped_run, WINDOWED)]
    assert any((each == 0).flatten(start_dim=1).all(dim=1).any() for each in keys)
