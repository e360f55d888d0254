"""The calls that move blocks: those of the recorded moves, in pools of the blocks they name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from paged.replay.shape import ReplayShape
from tests.helpers.recorded_runs import recorded_batches
from tests.helpers.replayed_calls import SHAPE, WINDOWED, all_calls, calls_of, operand

BOTH_GROUPS = pytest.mark.parametrize("shape", [SHAPE, WINDOWED], ids=["first group", "second"])


@BOTH_GROUPS
def test_copies_are_the_group_s_in_blocks_numbered_anew(
    shape: ReplayShape, grouped_run: Path
) -> None:
    num_copied = 0
    for batch, call in all_calls("copy_blocks", grouped_run, shape):
        moves = batch.copies.of(shape.group)
        pairs, pool = operand("copy_blocks", call, "pairs"), operand("copy_blocks", call, "kv_pool")
        known = np.unique([moves.src, moves.dst])
        assert known[pairs.numpy()].T.tolist() == [moves.src.tolist(), moves.dst.tolist()]
        assert pool.shape[:2] == (len(known), shape.num_layers)
        assert call.text == f"step {batch.step}: blocks copied {len(moves)}"
        num_copied += len(moves)
    assert num_copied


@BOTH_GROUPS
def test_swaps_are_one_call_each_way(shape: ReplayShape, grouped_run: Path) -> None:
    ways: set[str] = set()
    for batch in recorded_batches(grouped_run):
        made = {"out": batch.swap_out.of(shape.group), "in": batch.swap_in.of(shape.group)}
        expected = [(which, moves) for which, moves in made.items() if len(moves)]
        calls = calls_of("swap_blocks", batch, shape)
        for (which, moves), call in zip(expected, calls, strict=True):
            assert call.text == f"step {batch.step}: blocks swapped {which} {len(moves)}"
            pairs = operand("swap_blocks", call, "pairs").numpy()
            for side, (name, ids) in enumerate((("source", moves.src), ("destination", moves.dst))):
                known = np.unique(ids)
                assert known[pairs[:, side]].tolist() == ids.tolist()
                assert operand("swap_blocks", call, name).shape[:2] == (
                    len(known),
                    shape.num_layers,
                )
            ways.add(which)
    assert ways == {"in", "out"}


def test_a_step_without_moves_makes_no_call(grouped_run: Path) -> None:
    still = [batch for batch in recorded_batches(grouped_run) if not batch.num_moves]
    assert still
    for batch in still:
        assert not calls_of("copy_blocks", batch)
        assert not calls_of("swap_blocks", batch)
