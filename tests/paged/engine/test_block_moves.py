"""Blocks move by content, in the order that a scheduler relies on, in every group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from weakref import ref

import numpy as np
import pytest
import torch

from model_zoo.tiny import CONFIG
from paged.allocator.base import NO_MOVES, BlockMoves
from paged.config import CacheConfig
from paged.engine import model_executor
from paged.engine.block_moves import BlockMover
from paged.engine.copy_lane import InlineLane
from paged.engine.kv_pool import KVPools, make_pools
from paged.sampling_params import SamplingParams
from paged.scheduler.batch import Batch
from tests.helpers.late_lane import LateLane
from tests.helpers.tiny_llm import check_empty, tiny_llm


def _moves(*pairs: tuple[int, int]) -> BlockMoves:
    src, dst = np.array(pairs, np.int64).reshape(-1, 2).T
    return BlockMoves(src, dst)


@pytest.fixture
def pools() -> KVPools:
    """Two groups whose every block holds one number: its own, 100 more on the host."""
    made = make_pools(
        replace(CONFIG, num_layers=3, windows=(None, 8, 8)),
        CacheConfig(num_blocks=6, num_host_blocks=4, block_size=2),
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
    BlockMover(pools, InlineLane()).move(batch)


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


@dataclass(slots=True)
class _Desk:
    """A mover on a lane that lags, and the pools."""

    pools: KVPools
    lane: LateLane
    mover: BlockMover
    make_batch: Callable[..., Batch]

    def step(self, block: int, **moves: BlockMoves) -> None:
        """Move, then compute what writes a block: 50 more than it held."""
        batch = self.make_batch((0, 0, 1, 1))
        batch.tables.ids[0, 0] = block
        for name, each in moves.items():
            setattr(batch, name, each)
        self.mover.move(batch)
        for pool in self.pools.device:
            pool[block] += 50


@pytest.fixture
def desk(pools: KVPools, make_batch: Callable[..., Batch]) -> _Desk:
    lane = LateLane()
    return _Desk(pools=pools, lane=lane, mover=BlockMover(pools, lane), make_batch=make_batch)


def test_blocks_leave_while_a_step_computes_that_does_not_write_them(desk: _Desk) -> None:
    desk.step(5, swap_out=_moves((1, 3), (2, 0)))
    assert _content(desk.pools.host) == [100, 101, 102, 103]
    desk.lane.run_next()
    assert _content(desk.pools.host) == [2, 101, 102, 1]
    assert desk.lane.waiting == []


def test_a_block_that_the_step_writes_leaves_before(desk: _Desk) -> None:
    desk.step(2, swap_out=_moves((1, 3), (2, 0)))
    assert _content(desk.pools.host) == [2, 101, 102, 103]
    desk.lane.run_next()
    assert _content(desk.pools.host) == [2, 101, 102, 1]


def test_a_block_that_a_copy_writes_leaves_before(desk: _Desk) -> None:
    desk.step(5, swap_out=_moves((1, 3), (2, 0)), copies=_moves((4, 1)))
    assert _content(desk.pools.host) == [100, 101, 102, 1]
    assert _content(desk.pools.device)[1] == 4


def test_a_later_step_waits_for_the_blocks_that_it_writes(desk: _Desk) -> None:
    desk.step(5, swap_out=_moves((1, 3)))
    desk.step(5, swap_out=_moves((2, 0)))
    desk.step(4)
    assert _content(desk.pools.host) == [100, 101, 102, 103]
    desk.step(1)
    assert _content(desk.pools.host) == [100, 101, 102, 1]
    desk.step(3, copies=_moves((4, 2)))
    assert _content(desk.pools.host) == [2, 101, 102, 1]


def test_copies_that_are_over_are_forgotten(desk: _Desk) -> None:
    desk.step(5, swap_out=_moves((1, 3)))
    ticket = ref(desk.lane.waiting[0][0])
    desk.lane.run_next()
    desk.step(4)
    assert ticket() is None


def test_pools_outlive_the_copies(pools: KVPools, monkeypatch: pytest.MonkeyPatch) -> None:
    lane, drained = InlineLane(), list[InlineLane]()
    monkeypatch.setattr(lane, "drain", lambda: drained.append(lane), raising=False)
    mover = BlockMover(pools, lane)
    assert drained == []
    del mover
    assert drained == [lane]


def test_blocks_come_back_before_the_step_and_after_they_left(desk: _Desk) -> None:
    desk.step(5, swap_out=_moves((1, 3)))
    desk.step(5, swap_in=_moves((3, 4), (0, 1)))
    assert _content(desk.pools.device) == [0, 100, 2, 3, 1, 105]


def test_an_engine_whose_copies_lag_draws_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    prompts = ["the quick brown fox", "a", "zebra crossing", "0123456789abcdef", "more"]
    params = SamplingParams(n=2, temperature=0.9, seed=1, max_tokens=24, ignore_eos=True)
    wanted = tiny_llm().generate(prompts, params)
    lane = LateLane()
    monkeypatch.setattr(model_executor, "find_lane", lambda _: lane)
    llm = tiny_llm(num_blocks=24, preemption="swap")
    found = llm.generate(prompts, params)
    check_empty(llm)
    assert [each.outputs for each in found] == [each.outputs for each in wanted]
    assert lane.num_late
