"""vllm#46283, #50425, #29987, sglang#11970: aborts that were ignored or kept their blocks."""

from __future__ import annotations

import pytest

from paged.scheduler.request import FinishReason

NAMES = ["first", "second", "third"]


def _abort_twice(engine, name: str) -> None:
    for _ in range(2):
        engine.engine.abort(name)
        engine.scheduler.check_integrity()


@pytest.mark.parametrize("preemption", ["recompute", "swap"])
@pytest.mark.parametrize("is_in_flight", [False, True])
@pytest.mark.parametrize("num_steps", range(12))
@pytest.mark.parametrize("name", NAMES)
def test_an_abort_at_any_step_gives_everything_back(
    make_engine, preemption: str, is_in_flight: bool, num_steps: int, name: str
) -> None:
    engine = make_engine(
        num_blocks=9, num_host_blocks=6, preemption=preemption, max_num_batched_tokens=6
    )
    for i, each in enumerate(NAMES):
        engine.add(each, [i] * 7, num_new=6, num_sequences=1 + i % 2)
    for _ in range(num_steps):
        engine.step()
    if is_in_flight:
        engine.between = lambda batch: _abort_twice(engine, name)
        engine.step()
        engine.between = None
    _abort_twice(engine, name)
    engine.run()
    assert len(engine.finished) == 4
    others = [each for each in NAMES if each != name]
    reasons = {engine.finished[each, 0].reason for each in others}
    assert FinishReason.ABORT not in reasons


def test_aborts_of_finished_and_unknown_ids_do_nothing(make_engine) -> None:
    engine = make_engine(num_blocks=8)
    engine.add("only", [1] * 4, num_new=2)
    engine.run()
    _abort_twice(engine, "only")
    _abort_twice(engine, "nobody")
    assert not engine.engine.has_work
    engine.check_empty()


def test_an_abort_in_the_step_that_ends_the_request_changes_nothing(make_engine) -> None:
    engine = make_engine(num_blocks=8)
    engine.add("only", [1] * 4, num_new=1)
    engine.between = lambda batch: engine.engine.abort("only")
    engine.run()
    assert engine.finished["only", 0].reason is FinishReason.LENGTH
