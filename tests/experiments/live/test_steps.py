"""Steps are written down as the engine makes them."""

from __future__ import annotations

import numpy as np

from experiments.live.steps import StepLog, median_of
from paged import SamplingParams
from tests.helpers.live_steps import steps_of
from tests.helpers.tiny_llm import tiny_llm


def test_steps_of_a_static_batch_hold_rows_until_it_ends() -> None:
    llm = tiny_llm(allocator="static", num_blocks=64)
    log = StepLog(llm.engine.now_s)
    llm.engine.observers = (*llm.engine.observers, log)
    begin_s = llm.engine.now_s
    params = [SamplingParams(max_tokens=n, ignore_eos=True) for n in (1, 3)]
    llm.generate([[1, 2, 3], [4, 5]], params)
    elapsed_s = llm.engine.now_s - begin_s
    steps = log.steps()
    assert steps.work["seqs"].tolist() == [2, 1, 1]
    assert steps.work["held_rows"].tolist() == [2, 2, 2]
    assert steps.work["scheduled_tokens"].tolist() == [5, 1, 1]
    assert steps.work["context_tokens"].tolist() == [5, 3, 4]
    assert steps.work["new_tokens"].tolist() == [2, 1, 1]
    assert steps.padding_tokens.tolist() == [0, 0, 0]
    assert steps.step_s.min() > 0
    assert steps.step_s.sum() <= elapsed_s


def test_medians_are_of_each_step() -> None:
    rounds = [steps_of(times, model_s=[0.5, 0.5]) for times in ([1, 9], [2, 7], [8, 1])]
    assert median_of(rounds).step_s.tolist() == [2, 7]
    assert median_of(rounds).model_s.tolist() == [0.5, 0.5]


def test_a_part_keeps_all_columns_together() -> None:
    steps = steps_of([1, 2, 3], seqs=[4, 5, 6], padding=[7, 8, 9], model_s=[0, 1, 2])
    part = steps.part(slice(1, None))
    assert len(part) == 2
    assert part.work["seqs"].tolist() == [5, 6]
    columns = (part.padding_tokens, part.step_s, part.model_s)
    assert np.stack(columns).tolist() == [[8, 9], [2, 3], [1, 2]]


def test_work_is_compared_and_time_is_not() -> None:
    assert steps_of([1, 2]).has_work_of(steps_of([3, 4]))
    assert not steps_of([1, 2]).has_work_of(steps_of([1, 2], preempted=[0, 1]))
    assert not steps_of([1, 2]).has_work_of(steps_of([1]))
