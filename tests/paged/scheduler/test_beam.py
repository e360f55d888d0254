"""Beam searches under the scheduler: content of every block, lockstep, preemption, ends."""

from __future__ import annotations

from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paged.config import CacheConfig, SchedulerConfig
from paged.errors import OutOfBlocks, RequestRefused
from paged.scheduler.plan import StepPlan
from paged.scheduler.preemption import preempt
from paged.scheduler.request import FinishReason
from tests.helpers.toy_beams import SearchEngine, beam_params, toy_search

DEFAULTS = {
    **{"num_blocks": 64, "block_size": 4, "max_model_len": 64, "watermark": 0.0},
    **{"max_num_seqs": 8, "max_num_batched_tokens": None},
}


def make_engine(**values: Any) -> SearchEngine:
    values = DEFAULTS | values
    names = {field.name for field in fields(CacheConfig)}
    cache = CacheConfig(**{name: value for name, value in values.items() if name in names})
    others = {name: value for name, value in values.items() if name not in names}
    return SearchEngine(cache, SchedulerConfig(**others))


def add_search(
    engine: SearchEngine,
    name: str,
    prompt: list[int],
    width: int,
    *,
    num_new: int = 12,
    priority: int = 0,
) -> None:
    sampling = beam_params(width)
    engine.add(name, prompt, num_new, num_sequences=width, sampling=sampling, priority=priority)


def assert_whole(engine: SearchEngine, name: str, width: int) -> None:
    """Assert that a search came to what it comes to undisturbed."""
    for index in range(width):
        finished = engine.finished[name, index]
        assert finished.tokens.tolist() == engine.expected(finished.request, index)[0]


@pytest.mark.parametrize(
    "allocator", ["paged", "reserved-max", "reserved-pow2", "static", "virtual"]
)
@pytest.mark.parametrize("width", [1, 2, 4])
def test_a_search_comes_to_what_its_oracle_says(allocator: str, width: int) -> None:
    engine = make_engine(allocator=allocator, max_model_len=32)
    for number in range(6):
        add_search(engine, f"search{number}", [number, 2, 3, 4, 5], width)
        engine.add(f"other{number}", [number, 2, 3], 9, num_sequences=2)
    engine.run()
    for number in range(6):
        assert_whole(engine, f"search{number}", width)


def test_a_search_resumes_from_all_that_its_beams_share() -> None:
    engine = make_engine(max_num_batched_tokens=32)
    engine.add("early", [7, 7, 7, 7], 40)
    add_search(engine, "search", [1, 2, 3, 4, 5, 1], width=3, num_new=18)
    for _ in range(12):
        engine.step()
    core = engine.scheduler._core
    state = core.states["search"]
    beams = [core.rows.known(row).tolist() for row in state.rows]
    preempt(core, StepPlan(None), state)
    num_shared = next(i for i in range(len(beams[0])) if len({beam[i] for beam in beams}) > 1)
    assert num_shared > 6
    batch = engine.engine.scheduler.schedule()
    assert batch.admitted[0].num_cached_tokens == 0
    assert batch.num_scheduled.tolist() == [1, num_shared]
    assert batch.num_samples.tolist() == [1, 0]
    engine.scheduler.update(batch, engine.executor.execute(batch))
    engine.run()
    assert_whole(engine, "search", 3)


def test_beams_share_all_but_their_last_blocks() -> None:
    engine = make_engine(num_blocks=7, max_model_len=24)
    # Four beams of 24 tokens alone would be 24 blocks.
    add_search(engine, "search", list(range(16)), width=2, num_new=8)
    engine.run()
    assert_whole(engine, "search", 2)
    assert not any(batch.num_preempted for batch in engine.batches)


@pytest.mark.parametrize(("preemption", "num_host_blocks"), [("recompute", 0), ("swap", 32)])
@pytest.mark.parametrize("caching", [False, True])
def test_a_preempted_search_goes_on_as_if_nothing_happened(
    preemption: str, num_host_blocks: int, caching: bool
) -> None:
    engine = make_engine(
        num_blocks=16,
        preemption=preemption,
        num_host_blocks=num_host_blocks,
        enable_prefix_caching=caching,
        max_num_batched_tokens=9,
    )
    engine.add("early", [7, 7, 7, 7], 40)
    for number in range(4):
        add_search(engine, f"search{number}", [1, 2, 3, 4, 5, number], width=3, num_new=18)
    engine.run()
    assert sum(batch.num_preempted for batch in engine.batches) >= 2
    if preemption == "swap":
        assert any(len(batch.swap_in) for batch in engine.batches)
    for number in range(4):
        assert_whole(engine, f"search{number}", 3)


def test_beams_take_every_step_together() -> None:
    engine = make_engine(max_num_batched_tokens=5)
    for number in range(3):
        add_search(engine, f"search{number}", [1, 2, 3, number], width=2)
    engine.run()
    for number in range(3):
        assert_whole(engine, f"search{number}", 2)
    # Three pairs do not fit into five tokens: a pair waits as a whole, and its turn comes.
    assert {batch.num_tokens for batch in engine.batches} <= {2, 4, 5, 6}
    assert any(batch.num_seqs == 4 and batch.num_tokens == 4 for batch in engine.batches)


@pytest.mark.parametrize("num_new", [1, 4])
def test_a_search_that_finds_no_memory_to_fork_begins_again(monkeypatch, num_new: int) -> None:
    engine = make_engine(max_num_batched_tokens=6, policy="priority")
    allocator = engine.scheduler.allocator
    add_search(engine, "running", [5, 2, 3, 4, 5], width=2, priority=1)
    engine.step()
    add_search(engine, "starved", [1, 2, 3, 4, 5, 6], width=3, num_new=num_new)
    engine.step()

    def starve(*_: object) -> None:
        monkeypatch.undo()
        raise OutOfBlocks(num_needed=1, num_available=0)

    # Now its prompt is complete, and what it draws stands before what the other draws.
    monkeypatch.setattr(allocator, "fork", starve)
    engine.step()
    assert engine.batches[-1].num_samples.tolist() == [3, 1, 1]
    engine.run()
    assert engine.finished["starved", 0].num_preemptions == 1
    assert_whole(engine, "running", 2)
    assert_whole(engine, "starved", 3)


def test_a_search_wider_than_a_step_is_refused() -> None:
    engine = make_engine(max_num_batched_tokens=3)
    add_search(engine, "fits", [1], width=3)
    with pytest.raises(RequestRefused, match="4 beams take every step together"):
        add_search(engine, "wide", [1], width=4)
    engine.run()
    assert_whole(engine, "fits", 3)


def test_a_search_alone_in_a_full_pool_ends_as_a_whole() -> None:
    engine = make_engine(num_blocks=5, max_model_len=64)
    add_search(engine, "search", [0, 2, 3, 4, 5, 6], width=3, num_new=40)
    engine.run()
    ended = [engine.finished["search", index] for index in range(3)]
    assert {finished.reason for finished in ended} == {FinishReason.LENGTH}
    assert len({finished.num_new_tokens for finished in ended}) == 1
    assert 1 < ended[0].num_new_tokens < 40


@pytest.mark.parametrize("step", range(6))
def test_a_search_can_be_aborted_at_any_moment(step: int) -> None:
    engine = make_engine(max_num_batched_tokens=4)
    add_search(engine, "search", [5, 2, 3, 4, 5, 6], width=3)
    add_search(engine, "other", [6, 5, 4], width=2)
    for _ in range(step):
        engine.step()
    engine.between = lambda _: engine.engine.abort("search")
    engine.run()
    assert not engine.scheduler._core.searches
    assert_whole(engine, "other", 2)
    assert {engine.finished["search", index].reason for index in range(3)} == {FinishReason.ABORT}


def test_a_search_whose_step_fails_ends_with_it() -> None:
    engine = make_engine()
    add_search(engine, "search", [1, 2, 3], width=3)
    for _ in range(3):
        engine.step()
    engine.fail_step()
    assert {engine.finished["search", index].reason for index in range(3)} == {FinishReason.ERROR}
    add_search(engine, "search", [1, 2, 3], width=3)
    engine.run()
    assert_whole(engine, "search", 3)


def test_a_group_is_no_search() -> None:
    engine = make_engine()
    engine.add("group", [1, 2, 3], 5, num_sequences=3)
    engine.run()
    assert not engine.scheduler._core.searches


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_mixture_leaves_searches_as_they_are(data: st.DataObject) -> None:
    preemption = data.draw(st.sampled_from(["recompute", "swap"]))
    engine = make_engine(
        num_blocks=data.draw(st.integers(14, 40)),
        block_size=data.draw(st.sampled_from([1, 3, 4])),
        preemption=preemption,
        num_host_blocks=data.draw(st.integers(0, 20)) if preemption == "swap" else 0,
        enable_prefix_caching=data.draw(st.booleans()),
        max_num_batched_tokens=data.draw(st.sampled_from([None, 4, 7])),
        max_model_len=14,
    )
    for number in range(data.draw(st.integers(1, 7))):
        prompt = data.draw(st.lists(st.integers(0, 1), min_size=1, max_size=6))
        width = data.draw(st.integers(1, 4))
        if data.draw(st.booleans()):
            add_search(engine, f"{number}", prompt, width, num_new=data.draw(st.integers(1, 9)))
        else:
            engine.add(f"{number}", prompt, 7, num_sequences=width)
        for _ in range(data.draw(st.integers(0, 5))):
            engine.step()
        if data.draw(st.integers(0, 5)) == 5:
            engine.engine.abort(f"{data.draw(st.integers(0, number))}")
        if data.draw(st.integers(0, 7)) == 7:
            engine.fail_step()
    engine.run()


def test_the_oracle_moves_beams() -> None:
    engine = make_engine()
    request = engine.request("a", [1, 2, 3], 12, num_sequences=3, sampling=beam_params(3))
    history, _ = toy_search(request, 64)
    assert len(history) > 8
    parents = [
        [next(i for i, old in enumerate(before) if new[:-1] == old) for new in after]
        for before, after in pairwise(history[1:])
    ]
    # All beams of one parent, a parent of two, and none that moves.
    assert {len(np.unique(each)) for each in parents} >= {1, 2}
