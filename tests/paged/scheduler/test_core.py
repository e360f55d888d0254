"""The ways a request can leave, and what it reports when it does."""

from __future__ import annotations

import pytest

from paged.scheduler.request import FinishReason


def _abort(scheduler, name: str, finish) -> list:
    scheduler.abort(name)
    scheduler.check_integrity()
    return finish(scheduler, scheduler.schedule())


def test_a_waiting_request_leaves_with_its_prompt(make_scheduler, make_request, finish) -> None:
    scheduler = make_scheduler()
    scheduler.add(make_request("a", num_tokens=4, num_sequences=2))
    first, second = _abort(scheduler, "a", finish)
    assert (first.sequence_index, second.sequence_index) == (0, 1)
    assert first.tokens.tolist() == second.tokens.tolist() == [97] * 4
    assert first.reason is FinishReason.ABORT
    assert not scheduler.has_work


def test_an_end_is_reported_even_when_nothing_is_left_to_run(make_scheduler, make_request) -> None:
    scheduler = make_scheduler()
    scheduler.add(make_request("a"))
    scheduler.abort("a")
    assert scheduler.has_work
    assert scheduler.num_waiting == 0


def test_a_running_request_leaves_with_what_it_drew(
    make_scheduler, make_request, step, finish
) -> None:
    scheduler = make_scheduler()
    scheduler.add(make_request("a", num_tokens=4))
    step(scheduler, tokens=[7])
    (finished,) = _abort(scheduler, "a", finish)
    assert finished.tokens.tolist() == [97] * 4 + [7]
    assert scheduler.allocator.usage(None).free == scheduler.allocator.capacity_slots


def test_a_group_that_has_not_forked_leaves_with_its_prompt(
    make_scheduler, make_request, step, finish
) -> None:
    scheduler = make_scheduler(max_num_batched_tokens=2)
    scheduler.add(make_request("group", num_tokens=4, num_sequences=2))
    step(scheduler)
    ended = _abort(scheduler, "group", finish)
    assert [finished.tokens.tolist() for finished in ended] == [[103] * 4] * 2


@pytest.mark.parametrize("preemption", ["recompute", "swap"])
def test_a_preempted_request_leaves_with_what_it_drew(
    make_scheduler, make_request, step, finish, preemption: str
) -> None:
    scheduler = make_scheduler(num_blocks=2, preemption=preemption, num_host_blocks=2)
    for name in "ab":
        scheduler.add(make_request(name, num_tokens=4))
    step(scheduler, tokens=[5, 6])
    step(scheduler)
    assert scheduler.num_waiting + scheduler.num_swapped == 1
    (finished,) = _abort(scheduler, "b", finish)
    assert finished.tokens.tolist() == [98] * 4 + [6]
    assert finished.num_preemptions == 1


def test_rows_of_ended_sequences_are_held_while_a_static_batch_runs(
    make_scheduler, make_request, step
) -> None:
    scheduler = make_scheduler(allocator="static", batching="static")
    for name, num_new in (("short", 1), ("long", 2)):
        scheduler.add(make_request(name, num_new=num_new))
    step(scheduler)
    assert scheduler._core.held_rows == [0]
    assert scheduler.allocator.tables.live_rows().tolist() == [0, 1]
    step(scheduler)
    assert scheduler._core.held_rows == []
    assert scheduler.allocator.tables.live_rows().tolist() == []


def test_swapped_requests_wait_in_the_order_of_service(make_scheduler, make_request, step) -> None:
    scheduler = make_scheduler(num_blocks=3, preemption="swap", num_host_blocks=4)
    for name in "abc":
        scheduler.add(make_request(name, num_tokens=4))
    step(scheduler)
    step(scheduler)
    names = [state.request.request_id for state in scheduler._core.swapped]
    assert names == ["b", "c"]
