"""Sequences that end from outside: one of several, in every state of their request."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from paged.errors import RequestRefused
from paged.scheduler.request import FinishReason
from tests.helpers.toy_engine import make_toy_engine

STOP, LENGTH, ABORT = FinishReason.STOP, FinishReason.LENGTH, FinishReason.ABORT


def test_the_others_of_a_group_go_on(make_engine) -> None:
    engine = make_engine(num_blocks=16)
    engine.add("a", [1, 2], num_new=5, num_sequences=3)
    engine.step()
    engine.engine.end_sequence("a", 1, ABORT)
    (finished,) = engine.step()
    assert (finished.sequence_index, finished.num_new_tokens) == (1, 1)
    engine.run()
    ends = [(engine.finished["a", i].reason, len(engine.tokens("a", i))) for i in range(3)]
    assert ends == [(LENGTH, 7), (ABORT, 3), (LENGTH, 7)]


def test_the_reason_is_told(make_scheduler, make_request, step, finish) -> None:
    scheduler = make_scheduler()
    scheduler.add(make_request("a", num_tokens=4))
    step(scheduler)
    scheduler.end_sequence("a", 0, STOP)
    (finished,) = finish(scheduler, scheduler.schedule())
    assert (finished.reason, len(finished.tokens)) == (STOP, 5)
    assert not scheduler.has_work


def test_a_sequence_that_takes_part_in_the_step_in_flight_ends_after_it(make_engine) -> None:
    engine = make_engine(num_blocks=16)
    engine.add("a", [1, 2], num_new=5, num_sequences=2)
    engine.step()
    engine.between = lambda batch: engine.engine.end_sequence("a", 0, ABORT)
    (finished,) = engine.step()
    assert (finished.sequence_index, finished.num_new_tokens) == (0, 2)


def test_a_group_that_has_not_forked_yet_loses_the_sequence_when_it_does(make_engine) -> None:
    engine = make_engine(num_blocks=16, max_num_batched_tokens=2)
    engine.add("a", [1] * 5, num_new=3, num_sequences=2)
    engine.step()
    engine.engine.end_sequence("a", 1, ABORT)
    assert engine.step() == []
    (finished,) = engine.step()
    assert (finished.sequence_index, finished.num_new_tokens) == (1, 1)


def test_a_waiting_group_asks_for_less(make_engine) -> None:
    engine = make_engine(num_blocks=16, max_num_seqs=2)
    engine.add("first", [1], num_new=3)
    engine.add("a", [1] * 5, num_new=3, num_sequences=2)
    engine.step()
    assert engine.scheduler.num_waiting == 1
    engine.engine.end_sequence("a", 0, ABORT)
    engine.step()
    assert engine.scheduler.num_waiting == 0
    assert engine.finished["a", 0].num_new_tokens == 0


@pytest.mark.parametrize("index", [7, -1])
def test_unknown_and_ended_sequences_are_passed_over(make_engine, index: int) -> None:
    engine = make_engine(num_blocks=16)
    engine.add("a", [1, 2], num_new=2)
    engine.step()
    engine.engine.end_sequence("a", index, ABORT)
    engine.engine.end_sequence("nobody", 0, ABORT)
    engine.run()
    assert engine.finished["a", 0].reason is LENGTH
    engine.engine.end_sequence("a", 0, ABORT)
    assert not engine.engine.has_work


@pytest.mark.parametrize("preemption", ["recompute", "swap"])
def test_ends_at_random_moments_disturb_no_other_sequence(preemption: str) -> None:
    seen: Counter[str] = Counter()
    for seed in range(20):
        random = Random(seed)
        engine = make_toy_engine(
            **{"num_blocks": 11, "block_size": 3, "max_model_len": 24, "max_num_seqs": 6},
            **{"max_num_batched_tokens": 7, "preemption": preemption, "num_host_blocks": 8},
        )
        num_wanted = 0
        for number in range(30):
            count = random.choice([1, 2, 3])
            try:
                engine.add(f"r{number}", [1] * random.randint(1, 9), 9, num_sequences=count)
                num_wanted += count
            except RequestRefused:
                pass
            name, index = f"r{random.randint(0, number)}", random.randint(0, 2)
            seen[_state_of(engine, name)] += 1
            engine.engine.end_sequence(name, index, ABORT)
            engine.scheduler.check_integrity()
            if random.random() < 0.3:
                engine.between = lambda batch: engine.engine.end_sequence(name, 0, ABORT)  # noqa: B023
            engine.step()
            engine.between = None
        engine.run()
        assert len(engine.finished) == num_wanted
    wanted = {"recompute": "again", "swap": "swapped"}[preemption]
    assert min(seen["running"], seen["waiting"], seen["unforked"], seen[wanted]) >= 3, seen


def _state_of(engine, name: str) -> str:
    core = engine.scheduler._core
    state = core.states.get(name)
    if state is None:
        return "over"
    if name in core.waiting:
        return "again" if state.saved else "waiting"
    if state in core.swapped:
        return "swapped"
    return "running" if state.is_forked else "unforked"
