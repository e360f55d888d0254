"""Shadow allocators: states worked out by hand, and books that agree with random traffic."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from paged.server.shadow import Shadows, ShadowState
from tests.helpers.toy_engine import ToyEngine, make_toy_engine


def _watched(
    blocks_per_page: int = 1, shadow_blocks: int | None = None, **values: Any
) -> tuple[ToyEngine, Shadows]:
    """Make an engine with shadows, whose pools are as large unless they are said to differ."""
    toy = make_toy_engine(**values)
    num_blocks = shadow_blocks or toy.cache.num_blocks
    tables = toy.scheduler.allocator.tables
    shadows = Shadows(tables, num_blocks=num_blocks, blocks_per_page=blocks_per_page)
    toy.engine.observers = (*toy.engine.observers, shadows)
    return toy, shadows


def _states(shadows: Shadows) -> dict[str, ShadowState]:
    return {state.name: state for state in shadows.states()}


def _counts(state: ShadowState) -> tuple[int, int, int, int]:
    return state.num_held, state.num_waiting, state.num_refused, state.num_preempted


def test_each_policy_holds_what_it_would_of_three_requests() -> None:
    # A pool of 64 slots; a sequence may come to 32 tokens.
    toy, shadows = _watched(num_blocks=16, max_model_len=32)
    for name in "abc":
        toy.add(name, [ord(name)] * 5, num_new=6)
    toy.step()
    states = _states(shadows)
    # Two ranges of 32 slots; the third request has no room.
    longest = states["reserved-max"]
    assert _counts(longest) == (2, 1, 0, 0)
    assert (longest.classes["token"], longest.classes["granted_unused"]) == (10, 54)
    assert longest.classes["free"] == 0
    # A prompt of 5 and outputs of up to 6, rounded up to 8: 13 slots in 4 blocks each.
    rounded = states["reserved-pow2"]
    assert _counts(rounded) == (3, 0, 0, 0)
    assert (rounded.classes["token"], rounded.classes["granted_unused"]) == (15, 33)
    # Two blocks each, as far as the prompt goes.
    virtual = states["virtual"]
    assert _counts(virtual) == (3, 0, 0, 0)
    assert (virtual.classes["token"], virtual.classes["granted_unused"]) == (15, 9)


def test_who_waits_is_let_in_with_all_it_holds_by_then() -> None:
    toy, shadows = _watched(num_blocks=16, max_model_len=32)
    toy.add("a", [1] * 5, num_new=3)
    for name in "bc":
        toy.add(name, [2] * 5, num_new=9)
    while "a" in toy.scheduler.states:
        assert _states(shadows)["reserved-max"].num_held in (0, 2)
        toy.step()
    toy.step()
    state = _states(shadows)["reserved-max"]
    assert _counts(state) == (2, 0, 0, 0)
    # The prompt, and the tokens of the steps before: neither sequence is behind.
    rows = toy.scheduler.running_rows
    assert state.classes["token"] == int(toy.scheduler.allocator.tables.num_tokens[rows].sum())


def test_what_can_never_fit_does_not_keep_others_waiting() -> None:
    toy, shadows = _watched(num_blocks=4, max_model_len=32)
    toy.add("a", [1] * 5)
    toy.step()
    states = _states(shadows)
    assert _counts(states["reserved-max"]) == (0, 0, 1, 0)
    assert _counts(states["virtual"]) == (1, 0, 0, 0)
    toy.run()
    assert _states(shadows)["reserved-max"].num_refused == 1


def test_the_latest_loses_its_memory_where_pages_run_out() -> None:
    # Sharing lets the real pool hold four sequences; alone each needs its prompt's blocks.
    toy, shadows = _watched(num_blocks=8, max_model_len=32, enable_prefix_caching=True)
    toy.add("a", [1] * 8, num_new=12)
    toy.step()
    toy.add("b", [1] * 8, num_new=12)
    toy.step()
    assert _states(shadows)["virtual"].num_held == 2
    while _states(shadows)["virtual"].num_held == 2:
        toy.step()
    assert _counts(_states(shadows)["virtual"]) == (1, 1, 0, 1)
    toy.run()
    assert _counts(_states(shadows)["virtual"])[:2] == (0, 0)


def test_a_shadow_keeps_what_the_real_allocator_preempts() -> None:
    toy, shadows = _watched(
        shadow_blocks=16, num_blocks=6, max_model_len=24, max_num_batched_tokens=4
    )
    toy.add("a", [1] * 4, num_new=16)
    toy.add("b", [2] * 4, num_new=16)
    while not any(batch.num_preempted for batch in toy.batches):
        before = _states(shadows)["virtual"].classes["token"]
        toy.step()
    # Only the tokens of a grow by one in the step that takes the memory of b.
    state = _states(shadows)["virtual"]
    assert _counts(state) == (2, 0, 0, 0)
    assert state.classes["token"] == before + 1
    while toy.scheduler.states["b"].rows == []:
        toy.step()
    # b is computed again there, a part in each step, and was never gone here.
    before = _states(shadows)["virtual"].classes["token"]
    while "b" in toy.scheduler.states:
        assert _states(shadows)["virtual"].classes["token"] >= before
        toy.step()
    toy.run()
    assert _counts(_states(shadows)["virtual"]) == (0, 0, 0, 0)


@pytest.mark.parametrize("preemption", ["recompute", "swap"])
@pytest.mark.parametrize("seed", range(3))
def test_books_agree_with_random_traffic(seed: int, preemption: str) -> None:
    toy, shadows = _watched(
        **{"num_blocks": 14, "max_model_len": 40, "enable_prefix_caching": seed % 2 == 0},
        **{"preemption": preemption, "num_host_blocks": 8, "max_num_batched_tokens": 12},
        blocks_per_page=1 + seed % 3,
    )
    random, num_added = Random(seed), 0
    while num_added < 40 or toy.engine.has_work:
        if num_added < 40 and random.random() < 0.5:
            prompt = [random.randrange(2)] * random.randint(1, 14)
            count = random.choice((1, 1, 2, 3))
            toy.add(f"{num_added}", prompt, random.randint(1, 12), num_sequences=count)
            num_added += 1
        if random.random() < 0.1 and toy.scheduler.states:
            toy.engine.abort(random.choice(list(toy.scheduler.states)))
        toy.step()
        for shadow in shadows.each:
            shadow.allocator.check_integrity()
            assert shadow.state().num_held <= len(toy.scheduler.states)
    assert any(batch.num_preempted for batch in toy.batches)
    for shadow in shadows.each:
        state = shadow.state()
        assert (state.num_held, state.num_waiting) == (0, 0)
        assert state.classes["free"] + state.classes["cached_free"] == state.capacity
        assert shadow.allocator.tables.num_free_rows == 8


def test_a_failed_step_ends_its_requests_in_the_shadows_too() -> None:
    toy, shadows = _watched(num_blocks=16, max_model_len=32)
    toy.add("a", [1] * 5)
    toy.step()
    toy.add("b", [2] * 5)
    toy.fail_step()
    toy.run()
    for state in shadows.states():
        assert (state.num_held, state.num_waiting) == (0, 0)
