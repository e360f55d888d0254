"""Who gives memory back, how, and when nobody can."""

from __future__ import annotations

import pytest

from paged.errors import OutOfBlocks
from paged.scheduler.request import FinishReason


def _full_pool(make_scheduler, make_request, step, **values):
    """Two requests that fill a pool of two blocks with their prompts."""
    scheduler = make_scheduler(**({"num_blocks": 2} | values))
    for name in "ab":
        scheduler.add(make_request(name, num_tokens=4, num_new=3))
    step(scheduler)
    return scheduler


def test_recompute_gives_all_memory_back(make_scheduler, make_request, step) -> None:
    scheduler = _full_pool(make_scheduler, make_request, step)
    batch = step(scheduler)
    assert (batch.num_preempted, batch.num_recomputed_tokens) == (1, 4)
    assert scheduler.allocator.tables.live_rows().tolist() == [0]
    assert (scheduler.num_running, scheduler.num_waiting, scheduler.num_swapped) == (1, 1, 0)


def test_swap_moves_the_blocks_to_the_host(make_scheduler, make_request, step) -> None:
    scheduler = _full_pool(make_scheduler, make_request, step, preemption="swap", num_host_blocks=1)
    batch = step(scheduler)
    assert (batch.num_preempted, batch.num_recomputed_tokens) == (1, 0)
    assert (batch.swap_out.src.tolist(), batch.swap_out.dst.tolist()) == ([1], [0])
    assert (scheduler.num_running, scheduler.num_waiting, scheduler.num_swapped) == (1, 0, 1)


def test_a_full_host_pool_falls_back_to_recompute(make_scheduler, make_request, step) -> None:
    scheduler = _full_pool(make_scheduler, make_request, step, preemption="swap", num_host_blocks=0)
    batch = step(scheduler)
    assert (batch.num_preempted, batch.num_recomputed_tokens) == (1, 4)
    assert scheduler.num_waiting == 1


def test_the_victim_is_the_latest_by_priority(make_scheduler, make_request, step) -> None:
    scheduler = make_scheduler(num_blocks=3, policy="priority")
    for name, priority in (("a", 2), ("b", 0), ("c", 1)):
        scheduler.add(make_request(name, num_tokens=4, num_new=2, priority=priority))
    step(scheduler)
    step(scheduler)
    assert "a" in scheduler._core.waiting
    assert scheduler.num_waiting == 2


def test_all_sequences_of_a_group_go_together(make_scheduler, make_request, step) -> None:
    scheduler = make_scheduler(num_blocks=5)
    scheduler.add(make_request("a", num_tokens=4, num_new=6))
    scheduler.add(make_request("group", num_tokens=4, num_new=6, num_sequences=2))
    batches = [step(scheduler) for _ in range(6)]
    assert [batch.num_preempted for batch in batches] == [0, 0, 0, 0, 0, 1]
    assert scheduler.allocator.tables.live_rows().tolist() == []
    # The group computes the prompt it shares once more, and then both tails.
    resumed, tails = step(scheduler), step(scheduler)
    assert (resumed.num_scheduled.tolist(), resumed.num_samples.tolist()) == ([4], [0])
    assert (tails.num_scheduled.tolist(), tails.num_samples.tolist()) == ([5, 5], [1, 1])


def test_a_request_alone_ends_at_the_limit_of_the_pool(
    make_scheduler, make_request, step, finish
) -> None:
    scheduler = make_scheduler(num_blocks=1)
    scheduler.add(make_request("a", num_tokens=3))
    step(scheduler)
    step(scheduler)
    batch = scheduler.schedule()
    assert (batch.num_seqs, batch.num_preempted) == (0, 0)
    (finished,) = finish(scheduler, batch)
    assert (finished.num_new_tokens, finished.reason) == (2, FinishReason.LENGTH)
    assert not scheduler.has_work


def test_swapped_requests_restart_before_the_last_running_one_ends(
    make_scheduler, make_request, step, finish
) -> None:
    # Both hold the block of the common prefix, so it stays on the device when b goes.
    scheduler = make_scheduler(
        num_blocks=3, preemption="swap", num_host_blocks=4, enable_prefix_caching=True
    )
    scheduler.add(make_request("a", num_tokens=5, num_new=12))
    step(scheduler)
    scheduler.add(make_request("again", num_tokens=5, num_new=12))
    while not scheduler.num_swapped:
        step(scheduler)
    while scheduler.num_swapped:
        batch = scheduler.schedule()
        finished = finish(scheduler, batch)
    # Giving up "again" freed nothing, so "a" had to end; only then is there room.
    assert (len(batch.swap_in), batch.num_preempted, batch.num_recomputed_tokens) == (0, 0, 7)
    assert [sequence.request.request_id for sequence in finished] == ["a"]
    assert (len(finished[0].tokens), finished[0].reason) == (13, FinishReason.LENGTH)
    assert [admitted.request.request_id for admitted in batch.admitted] == ["again"]


@pytest.mark.parametrize("num_others", [0, 1])
def test_a_group_without_memory_for_its_fork_waits_or_ends(
    make_scheduler, make_request, finish, monkeypatch, num_others: int
) -> None:
    scheduler = make_scheduler()
    for i in range(num_others):
        scheduler.add(make_request(f"{i}"))
    scheduler.add(make_request("group", num_sequences=2))
    batch = scheduler.schedule()

    def no_memory(parent, children, num_tokens):
        raise OutOfBlocks(num_needed=1, num_available=0)

    monkeypatch.setattr(scheduler.allocator, "fork", no_memory)
    finished = finish(scheduler, batch)
    if num_others:
        assert finished == []
        assert "group" in scheduler._core.waiting
        assert scheduler._core.states["group"].num_preemptions == 1
    else:
        assert [sequence.reason for sequence in finished] == [FinishReason.LENGTH] * 2
        assert [sequence.num_new_tokens for sequence in finished] == [0, 0]
        assert not scheduler.has_work
