"""Who is let in, in which order, and what is said to be in the way."""

from __future__ import annotations

import pytest

from paged.scheduler.batch import Blocked


def _names(batch) -> list[str]:
    return [admitted.request.request_id for admitted in batch.admitted]


def test_requests_come_in_by_arrival(make_scheduler, make_request, step) -> None:
    scheduler = make_scheduler()
    for name, arrival_s in (("late", 2.0), ("early", 1.0)):
        scheduler.add(make_request(name, arrival_s=arrival_s, priority=-int(arrival_s)))
    batch = step(scheduler)
    assert _names(batch) == ["early", "late"]
    assert batch.blocked is Blocked.NOTHING
    assert [admitted.is_resumed for admitted in batch.admitted] == [False, False]


def test_priority_counts_under_its_policy(make_scheduler, make_request, step) -> None:
    scheduler = make_scheduler(policy="priority")
    for name, priority in (("later", 5), ("sooner", 1)):
        scheduler.add(make_request(name, priority=priority))
    assert _names(step(scheduler)) == ["sooner", "later"]


def test_the_head_that_does_not_fit_blocks_the_others(make_scheduler, make_request, step) -> None:
    scheduler = make_scheduler(num_blocks=4)
    for name, num_tokens in (("running", 4), ("large", 16), ("small", 4)):
        scheduler.add(make_request(name, num_tokens=num_tokens))
    batch = step(scheduler)
    assert _names(batch) == ["running"]
    assert (batch.blocked, batch.num_waiting) == (Blocked.MEMORY, 2)


@pytest.mark.parametrize(("lookahead", "names"), [(1, ["running"]), (2, ["running", "small"])])
def test_lookahead_passes_over_so_many(
    make_scheduler, make_request, step, lookahead: int, names: list[str]
) -> None:
    scheduler = make_scheduler(num_blocks=4, lookahead=lookahead)
    for name, num_tokens in (("running", 4), ("large", 16), ("larger", 16), ("small", 4)):
        scheduler.add(make_request(name, num_tokens=num_tokens))
    batch = step(scheduler)
    assert _names(batch) == names
    assert batch.blocked is Blocked.MEMORY


def test_the_budget_can_be_in_the_way(make_scheduler, make_request, step) -> None:
    scheduler = make_scheduler(max_num_batched_tokens=6)
    for name in "abc":
        scheduler.add(make_request(name, num_tokens=4))
    batch = step(scheduler)
    assert _names(batch) == ["a", "b"]
    assert batch.num_scheduled.tolist() == [4, 2]
    assert batch.blocked is Blocked.TOKEN_BUDGET


def test_rows_can_be_in_the_way(make_scheduler, make_request, step) -> None:
    scheduler = make_scheduler(max_num_seqs=4)
    scheduler.add(make_request("three", num_sequences=3))
    scheduler.add(make_request("two", num_sequences=2))
    batch = step(scheduler)
    assert _names(batch) == ["three"]
    assert batch.admitted[0].rows.tolist() == [0, 1, 2]
    assert batch.admitted[0].sequence_indices == (0, 1, 2)
    assert batch.blocked is Blocked.SEQUENCE_LIMIT


def test_nobody_comes_in_during_a_step_that_preempted(make_scheduler, make_request, step) -> None:
    scheduler = make_scheduler(num_blocks=3)
    for name in "ab":
        scheduler.add(make_request(name, num_tokens=4))
    step(scheduler)
    scheduler.add(make_request("small", num_tokens=1))
    batch = step(scheduler)
    assert batch.num_preempted == 1
    assert batch.admitted == ()
    assert batch.blocked is Blocked.MEMORY


def test_nobody_comes_in_past_a_swapped_request(make_scheduler, make_request, step) -> None:
    scheduler = make_scheduler(num_blocks=4, preemption="swap", num_host_blocks=4)
    for name in "ab":
        scheduler.add(make_request(name, num_tokens=8, num_new=6))
    step(scheduler)
    scheduler.add(make_request("small", num_tokens=1))
    assert len(step(scheduler).swap_out) == 2
    blocked = step(scheduler)
    assert (blocked.admitted, blocked.blocked) == ((), Blocked.MEMORY)
    while scheduler.num_swapped:
        batch = step(scheduler)
    assert len(batch.swap_in) == 2
    assert batch.admitted == ()


def test_a_resumed_request_says_so(make_scheduler, make_request, step) -> None:
    scheduler = make_scheduler(num_blocks=2)
    for name in "ab":
        scheduler.add(make_request(name, num_tokens=4, num_new=3))
    batches = [step(scheduler) for _ in range(4)]
    assert _names(batches[3]) == ["b"]
    assert batches[3].admitted[0].is_resumed
    assert batches[3].num_scheduled.tolist() == [5]


def test_a_static_batch_lets_nobody_in_until_it_is_over(make_scheduler, make_request, step) -> None:
    scheduler = make_scheduler(batching="static", allocator="static", num_blocks=16)
    for name, num_new in (("short", 1), ("long", 3), ("next", 1)):
        scheduler.add(make_request(name, num_new=num_new))
    batches = [step(scheduler) for _ in range(4)]
    assert [_names(batch) for batch in batches] == [["short", "long"], [], [], ["next"]]
    assert batches[0].blocked is Blocked.MEMORY
    assert batches[1].blocked is Blocked.BATCH_RUNNING


def test_a_prefix_hit_leaves_the_rest_to_compute(make_scheduler, make_request, step) -> None:
    scheduler = make_scheduler(enable_prefix_caching=True)
    scheduler.add(make_request("a", num_tokens=9, num_new=1))
    step(scheduler)
    scheduler.add(make_request("again", num_tokens=9, num_new=1))
    batch = step(scheduler)
    assert batch.admitted[0].num_cached_tokens == 8
    assert (batch.num_computed.tolist(), batch.num_scheduled.tolist()) == ([8], [1])
