"""Jobs of a workload: by arrival, each with its own prompt and length."""

from __future__ import annotations

import numpy as np

from paged.loadgen.job import jobs_of
from paged.loadgen.load import fixed_lengths
from paged.loadgen.prompts import Prompts


def test_jobs_come_by_arrival_and_those_of_one_instant_in_order() -> None:
    workload = fixed_lengths(3, 8)(0, 4)
    prompts = Prompts(workload, seed=0)
    jobs = list(jobs_of(workload, prompts, np.array([2.0, 0.5, 2.0, 0.0])))
    assert [(job.index, job.due_s) for job in jobs] == [(3, 0.0), (1, 0.5), (0, 2.0), (2, 2.0)]
    assert [job.prompt for job in jobs] == [prompts.prompt(index) for index in (3, 1, 0, 2)]
    assert {job.num_output_tokens for job in jobs} == {8}


def test_without_arrivals_they_keep_their_order_and_have_no_time() -> None:
    workload = fixed_lengths(1, 1)(0, 3)
    jobs = list(jobs_of(workload, Prompts(workload, seed=0)))
    assert [(job.index, job.due_s) for job in jobs] == [(0, None), (1, None), (2, None)]
