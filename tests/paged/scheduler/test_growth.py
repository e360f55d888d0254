"""Running sequences get their next tokens first, in order, within the budget."""

from __future__ import annotations

import dataclasses


def test_every_running_sequence_decodes_one_token(make_scheduler, make_request, step) -> None:
    scheduler = make_scheduler()
    for name in "ab":
        scheduler.add(make_request(name, num_tokens=5))
    prefill, decode = step(scheduler), step(scheduler)
    assert prefill.num_scheduled.tolist() == [5, 5]
    assert decode.num_scheduled.tolist() == [1, 1]
    assert decode.num_computed.tolist() == [5, 5]
    assert decode.num_samples.tolist() == [1, 1]


def test_a_long_prompt_is_computed_in_chunks(make_scheduler, make_request, step) -> None:
    scheduler = make_scheduler(max_num_batched_tokens=4)
    scheduler.add(make_request("a", num_tokens=10))
    batches = [step(scheduler) for _ in range(4)]
    assert [batch.num_scheduled.tolist() for batch in batches] == [[4], [4], [2], [1]]
    assert [batch.num_computed.tolist() for batch in batches] == [[0], [4], [8], [10]]
    assert [batch.num_samples.tolist() for batch in batches] == [[0], [0], [1], [1]]


def test_running_sequences_are_served_before_new_ones(make_scheduler, make_request, step) -> None:
    scheduler = make_scheduler(max_num_batched_tokens=6)
    scheduler.add(make_request("a", num_tokens=4))
    step(scheduler)
    scheduler.add(make_request("b", num_tokens=8))
    batch = step(scheduler)
    assert batch.rows.tolist() == [0, 1]
    assert batch.num_scheduled.tolist() == [1, 5]


def test_the_budget_leaves_out_the_latest(make_scheduler, make_request, step) -> None:
    scheduler = make_scheduler()
    for name in "abc":
        scheduler.add(make_request(name, num_tokens=1))
    step(scheduler)
    scheduler._core.config = dataclasses.replace(scheduler.config, max_num_batched_tokens=2)
    scheduler.config = scheduler._core.config
    assert step(scheduler).rows.tolist() == [0, 1]
    assert step(scheduler).num_computed.tolist() == [2, 2]


def test_growth_in_a_full_pool_preempts_the_latest(make_scheduler, make_request, step) -> None:
    scheduler = make_scheduler(num_blocks=2)
    for name in "ab":
        scheduler.add(make_request(name, num_tokens=4))
    step(scheduler)
    batch = step(scheduler)
    assert batch.num_preempted == 1
    assert batch.rows.tolist() == [0]
    assert batch.num_recomputed_tokens == 4
    assert (scheduler.num_running, scheduler.num_waiting) == (1, 1)


def test_copies_of_a_fork_are_made_in_the_next_step(make_scheduler, make_request, step) -> None:
    scheduler = make_scheduler(allocator="virtual", num_blocks=16)
    scheduler.add(make_request("a", num_tokens=6, num_sequences=2))
    first, second = step(scheduler), step(scheduler)
    assert len(first.copies) == 0
    tables = scheduler.allocator.tables
    assert second.copies.src.tolist() == tables.ids[0, :2].tolist()
    assert second.copies.dst.tolist() == tables.ids[1, :2].tolist()
    assert len(step(scheduler).copies) == 0
