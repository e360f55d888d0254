"""Which logits a step needs, and whose tokens they draw."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from paged.engine.step_draws import DrawPlanner, PromptSpan
from paged.sampling_params import SamplingParams
from paged.scheduler.batch import Admitted, Batch
from paged.scheduler.request import Request


@pytest.fixture
def planner() -> DrawPlanner:
    return DrawPlanner(max_rows=8)


def _admit(planner: DrawPlanner, rows: list[int], num_tokens: int, **sampling: Any) -> None:
    request = Request(
        request_id="a",
        prompt_tokens=np.zeros(num_tokens, np.int32),
        max_new_tokens=9,
        num_sequences=len(rows),
        sampling=SamplingParams(**sampling),
    )
    planner.admit(
        Admitted(
            request=request,
            rows=np.array(rows, np.int64),
            sequence_indices=tuple(range(len(rows))),
            num_cached_tokens=0,
            is_resumed=False,
        )
    )


def test_a_step_of_decoding_needs_all_logits(planner: DrawPlanner, make_batch) -> None:
    _admit(planner, [3], 4)
    _admit(planner, [1], 4)
    draws = planner.plan(make_batch((3, 7, 1, 1), (1, 5, 1, 1)))
    assert (draws.logit_rows, draws.places, draws.prompts) == (None, None, ())
    assert draws.rows.tolist() == draws.token_rows.tolist() == [3, 1]
    assert draws.num_tokens.tolist() == [8, 6]
    assert draws.num_logits == 2


def test_the_last_token_of_a_prompt_draws_and_a_chunk_does_not(
    planner: DrawPlanner, make_batch
) -> None:
    draws = planner.plan(make_batch((3, 0, 4, 1), (1, 0, 2, 0), (2, 5, 1, 1)))
    assert _logit_rows(draws) == [3, 6]
    assert draws.rows.tolist() == [3, 2]
    assert draws.num_logits == 2


def test_a_group_draws_for_all_its_sequences_from_one_row_of_logits(
    planner: DrawPlanner, make_batch
) -> None:
    _admit(planner, [4, 0, 6], 3)
    draws = planner.plan(make_batch((1, 7, 1, 1), (4, 0, 3, 3)))
    assert _logit_rows(draws) == [0, 3]
    assert draws.rows.tolist() == [1, 4, 0, 6]
    assert draws.token_rows.tolist() == [1, 4, 4, 4]
    assert draws.num_tokens.tolist() == [8, 3, 3, 3]
    assert draws.places is not None
    assert draws.places.tolist() == [0, 1, 1, 1]


def test_prompts_are_reported_chunk_by_chunk_up_to_their_last_token(
    planner: DrawPlanner, make_batch: Callable[..., Batch]
) -> None:
    _admit(planner, [2], 5, prompt_logprobs=1)
    first = planner.plan(make_batch((0, 9, 1, 1), (2, 0, 3, 0)))
    assert first.prompts == (PromptSpan(row=2, first=1, count=3, num_top=1),)
    assert _logit_rows(first) == [0, 1, 2, 3]
    assert first.num_logits == 1
    last = planner.plan(make_batch((2, 3, 2, 1)))
    assert last.prompts == (PromptSpan(row=2, first=4, count=1, num_top=1),)
    # The draw comes first, then the prompt.
    assert _logit_rows(last) == [1, 0]
    assert planner.plan(make_batch((2, 5, 1, 1))).prompts == ()


def test_a_row_that_is_given_to_another_reports_no_more(planner: DrawPlanner, make_batch) -> None:
    _admit(planner, [2], 5, prompt_logprobs=0)
    _admit(planner, [2], 5)
    assert planner.plan(make_batch((2, 0, 5, 1))).prompts == ()


def _logit_rows(draws) -> list[int]:
    assert draws.logit_rows is not None
    return draws.logit_rows.tolist()
