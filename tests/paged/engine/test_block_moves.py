"""Blocks move by content, in the order that a scheduler relies on, in every group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from model_zoo.tiny import CONFIG
from paged.allocator.base import NO_MOVES, BlockMoves
from paged.engine.block_moves import move_blocks
from paged.engine.kv_pool import KVPools, make_pools
from paged.scheduler.batch import Batch


def _moves(*pairs: tuple[int, int]) -> BlockMoves:
    src, dst = np.array(pairs, np.int64).reshape(-1, 2).T
    return BlockMoves(src, dst)


@pytest.fixture
def pools() -> KVPools:
    """Two groups whose every block holds one number: its own, 100 more on the host."""
    made = make_pools(
        replace(CONFIG, num_layers=3, windows=(None, 8, 8)),
        num_blocks=6,
        num_host_blocks=4,
        block_size=2,
        dtype=torch.bfloat16,
        device=torch.device("cpu"),
    )
    for side, first in ((made.device, 0), (made.host, 100)):
        for pool in side:
            pool.copy_((torch.arange(len(pool)) + first).reshape(-1, 1, 1, 1, 1, 1).expand_as(pool))
    return made


def _content(side: tuple[torch.Tensor, ...]) -> list[int]:
    """Return the number that each block holds throughout, the same in every group."""
    numbers = [pool.float().flatten(1) for pool in side]
    assert all((group == group[:, :1]).all() for group in numbers)
    first = [group[:, 0].int().tolist() for group in numbers]
    assert all(group == first[0] for group in first)
    return first[0]


def _run(pools: KVPools, make_batch: Callable[..., Batch], **moves: BlockMoves) -> None:
    batch = make_batch((0, 0, 1, 1))
    for name in ("swap_out", "swap_in", "copies"):
        setattr(batch, name, moves.get(name, NO_MOVES))
    move_blocks(pools, batch)


def test_each_move_copies_whole_blocks(pools: KVPools, make_batch) -> None:
    _run(
        pools,
        make_batch,
        swap_out=_moves((1, 3), (2, 0)),
        swap_in=_moves((1, 4)),
        copies=_moves((0, 5)),
    )
    assert _content(pools.device) == [0, 1, 2, 3, 101, 0]
    assert _content(pools.host) == [2, 101, 102, 1]


def test_blocks_leave_before_others_take_their_place(pools: KVPools, make_batch) -> None:
    _run(
        pools,
        make_batch,
        swap_out=_moves((1, 0)),
        swap_in=_moves((2, 1)),
        copies=_moves((1, 3)),
    )
    assert _content(pools.host)[0] == 1
    assert _content(pools.device)[1] == 102
    assert _content(pools.device)[3] == 102


def test_without_moves_nothing_changes(pools: KVPools, make_batch) -> None:
    _run(pools, make_batch)
    assert _content(pools.device) == list(range(6))
