"""What becomes of drawn tokens: appended, shared out in a group, or the last of a sequence."""

from __future__ import annotations

from paged.scheduler.request import FinishReason


def test_a_drawn_token_is_known_and_computed_next(make_scheduler, make_request, step) -> None:
    scheduler = make_scheduler()
    scheduler.add(make_request("a", num_tokens=4))
    step(scheduler, tokens=[7])
    batch = scheduler.schedule()
    assert batch.flatten().tokens.tolist() == [7]
    assert batch.flatten().positions.tolist() == [4]


def test_a_stop_ends_the_sequence_with_its_token(make_scheduler, make_request, finish) -> None:
    scheduler = make_scheduler()
    for name in "ab":
        scheduler.add(make_request(name, num_tokens=4))
    batch = scheduler.schedule()
    (finished,) = finish(scheduler, batch, tokens=[7, 8], is_stopped=[False, True])
    assert finished.request.request_id == "b"
    assert finished.tokens.tolist() == [98, 98, 98, 98, 8]
    assert (finished.reason, finished.num_preemptions) == (FinishReason.STOP, 0)
    assert scheduler.allocator.tables.live_rows().tolist() == [0]


def test_the_limit_ends_the_sequence(make_scheduler, make_request, step, finish) -> None:
    scheduler = make_scheduler()
    scheduler.add(make_request("a", num_tokens=4, num_new=2))
    step(scheduler)
    (finished,) = finish(scheduler, scheduler.schedule())
    assert (finished.num_new_tokens, finished.reason) == (2, FinishReason.LENGTH)


def test_a_stop_at_the_limit_is_a_stop(make_scheduler, make_request, finish) -> None:
    scheduler = make_scheduler()
    scheduler.add(make_request("a", num_tokens=4, num_new=1))
    (finished,) = finish(scheduler, scheduler.schedule(), is_stopped=[True])
    assert finished.reason is FinishReason.STOP


def test_an_unfinished_prompt_draws_nothing(make_scheduler, make_request, step) -> None:
    scheduler = make_scheduler(max_num_batched_tokens=6)
    for name in "ab":
        scheduler.add(make_request(name, num_tokens=4))
    assert step(scheduler, tokens=[7]).num_samples.tolist() == [1, 0]
    assert scheduler._core.rows.num_tokens[:2].tolist() == [5, 4]


def test_each_sequence_of_a_group_gets_its_own_token(make_scheduler, make_request, step) -> None:
    scheduler = make_scheduler()
    scheduler.add(make_request("a", num_tokens=2))
    scheduler.add(make_request("group", num_tokens=4, num_sequences=3))
    batch = step(scheduler, tokens=[5, 6, 7, 8])
    assert batch.num_samples.tolist() == [1, 3]
    arrays = scheduler._core.rows
    assert arrays.running.tolist() == [0, 1, 2, 3]
    assert [arrays.known(row)[-1] for row in range(4)] == [5, 6, 7, 8]
    assert scheduler._core.num_computed.tolist() == [2, 4, 4, 4]


def test_a_sequence_of_a_group_can_end_at_once(make_scheduler, make_request, finish) -> None:
    scheduler = make_scheduler()
    scheduler.add(make_request("group", num_tokens=4, num_sequences=3))
    batch = scheduler.schedule()
    (finished,) = finish(scheduler, batch, tokens=[6, 7, 8], is_stopped=[False, True, False])
    assert (finished.sequence_index, finished.tokens[-1]) == (1, 7)
    assert scheduler.schedule().rows.tolist() == [0, 2]


def test_draws_are_addressed_across_groups(make_scheduler, make_request, step) -> None:
    scheduler = make_scheduler(max_num_seqs=5, max_num_batched_tokens=8)
    scheduler.add(make_request("pair", num_tokens=4, num_sequences=2))
    scheduler.add(make_request("three", num_tokens=6, num_sequences=3))
    assert step(scheduler, tokens=[1, 2]).num_samples.tolist() == [2, 0]
    assert step(scheduler, tokens=[3, 4, 5, 6, 7]).num_samples.tolist() == [1, 1, 3]
    arrays = scheduler._core.rows
    assert [arrays.known(row)[-1] for row in range(5)] == [3, 4, 5, 6, 7]
