"""Snapshots: who owns what, by hand and against the allocator's own check."""

from __future__ import annotations

import numpy as np
import pytest

from paged.allocator.registry import ALLOCATORS
from paged.config import GroupConfig
from paged.server.snapshot import Snapshot, take_snapshot
from tests.helpers.toy_engine import make_toy_engine


def _check(snapshot: Snapshot) -> None:
    """Assert that tables and pools tell the same."""
    for place, pool in enumerate(snapshot.pools):
        listed = np.zeros(len(pool.references), np.int64)
        for request in snapshot.requests:
            for sequence in request.sequences:
                table = sequence.tables[place]
                np.add.at(listed, table.blocks[table.is_resident], 1)
        assert np.array_equal(listed, pool.references)
        assert not pool.references[pool.cached].any()
        assert sum(pool.counts().values()) == len(pool.references)


def test_a_shared_prompt_and_a_request_that_waits() -> None:
    toy = make_toy_engine(num_blocks=16, max_num_seqs=2)
    toy.add("a", [1] * 6, num_new=5, num_sequences=2)
    toy.add("b", [2] * 5)
    toy.step()
    snapshot = take_snapshot(toy.engine)
    _check(snapshot)
    first, second = snapshot.requests
    assert (first.request_id, first.status, first.num_prompt_tokens) == ("a", "running", 6)
    assert [sequence.index for sequence in first.sequences] == [0, 1]
    assert [each.tables[0].blocks.tolist() for each in first.sequences] == [[0, 1], [0, 1]]
    assert (second.request_id, second.status, second.sequences) == ("b", "waiting", ())
    assert snapshot.block_counts() == {"held": 0, "shared": 2, "cached": 0, "free": 14}
    toy.step()
    # The two have written behind the prompt: one of them into a copy.
    snapshot = take_snapshot(toy.engine)
    _check(snapshot)
    assert snapshot.block_counts() == {"held": 2, "shared": 1, "cached": 0, "free": 13}
    assert snapshot.slots["token"] == 4 + 3 + 3
    assert snapshot.now_s == 2.0


@pytest.mark.parametrize("preemption", ["recompute", "swap"])
def test_a_preempted_request_is_told_from_one_that_waits(preemption: str) -> None:
    toy = make_toy_engine(num_blocks=6, preemption=preemption, num_host_blocks=6)
    toy.add("a", [1] * 4, num_new=16)
    toy.add("b", [2] * 4, num_new=16)
    while not any(batch.num_preempted for batch in toy.batches):
        toy.step()
    snapshot = take_snapshot(toy.engine)
    _check(snapshot)
    a, b = snapshot.requests
    assert (a.status, a.num_preemptions, b.num_preemptions) == ("running", 0, 1)
    assert b.status == ("swapped" if preemption == "swap" else "preempted")
    assert snapshot.num_with(b.status) == 1
    if preemption == "swap":
        (sequence,) = b.sequences
        assert not sequence.tables[0].is_resident.any()


def test_what_stays_cached_is_neither_held_nor_free() -> None:
    toy = make_toy_engine(num_blocks=8, enable_prefix_caching=True)
    toy.add("a", [1] * 9)
    toy.run()
    snapshot = take_snapshot(toy.engine)
    assert snapshot.block_counts() == {"held": 0, "shared": 0, "cached": 3, "free": 5}
    assert snapshot.requests == ()


@pytest.mark.parametrize("name", [name for name in ALLOCATORS if name != "static"])
def test_every_allocator_can_be_shown(name: str) -> None:
    toy = make_toy_engine(num_blocks=32, max_model_len=16, allocator=name)
    for request in "abc":
        toy.add(request, [1] * 5, num_new=4)
    toy.step()
    snapshot = take_snapshot(toy.engine)
    assert snapshot.allocator == name
    assert snapshot.num_with("running") == 3
    _check(snapshot)


def test_each_kv_group_has_a_pool_and_a_window_leaves_blocks_behind() -> None:
    toy = make_toy_engine(
        num_blocks=40,
        groups=(GroupConfig(num_blocks=20), GroupConfig(num_blocks=20, window=4)),
        max_num_batched_tokens=8,
    )
    # What it checks at each step is of one pool only.
    toy.engine.observers = ()
    toy.add("a", [1] * 20, num_new=4)
    while not toy.scheduler.drawn.rows.tolist():
        toy.engine.step()
    snapshot = take_snapshot(toy.engine)
    _check(snapshot)
    ((sequence,),) = [request.sequences for request in snapshot.requests]
    assert [table.first for table in sequence.tables] == [0, 4]
    assert len(snapshot.pools) == 2
