"""What a request asks for now, by where it stands in its life."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from paged.sampling_params import BeamParams, SamplingParams
from paged.scheduler.request import Request
from paged.scheduler.request_state import RequestState
from paged.scheduler.scheduler import Scheduler


@pytest.fixture
def make_state(make_request: Callable[..., Request]) -> Callable[..., RequestState]:
    def make(num_sequences: int = 1, **others: Any) -> RequestState:
        return RequestState(
            request=make_request("a", num_tokens=3, num_sequences=num_sequences, **others),
            key=(0, 0.0, 0),
            sequence_indices=list(range(num_sequences)),
        )

    return make


def test_a_request_first_computes_its_prompt(make_state) -> None:
    assert make_state().known_tokens().tolist() == [97, 97, 97]


def test_a_single_sequence_resumes_from_all_it_knows(make_state) -> None:
    state = make_state()
    state.saved = [np.array([97, 97, 97, 5], np.int32)]
    assert state.known_tokens().tolist() == [97, 97, 97, 5]


def test_a_group_resumes_from_the_prompt_it_shares(make_state) -> None:
    state = make_state(num_sequences=2)
    state.saved = [np.array([97, 97, 97, token], np.int32) for token in (5, 6)]
    assert state.known_tokens().tolist() == [97, 97, 97]
    del state.saved[0], state.sequence_indices[0]
    assert not state.is_group
    assert state.known_tokens().tolist() == [97, 97, 97, 6]


@pytest.mark.parametrize(
    ("tails", "num_shared"),
    [([[1, 2, 3], [1, 2, 4]], 2), ([[1, 2, 3], [4, 2, 3]], 0), ([[1, 2, 3], [1, 5, 3]], 1)],
)
def test_a_search_resumes_from_all_that_its_beams_share(
    make_state, tails: list[list[int]], num_shared: int
) -> None:
    state = make_state(num_sequences=2, sampling=SamplingParams(beam=BeamParams(width=2)))
    assert state.known_tokens().tolist() == [97, 97, 97]
    state.saved = [np.array([97, 97, 97, *tail], np.int32) for tail in tails]
    assert state.known_tokens().tolist() == [97, 97, 97, *tails[0][:num_shared]]


def test_beams_that_are_equal_still_have_a_token_to_compute(make_state) -> None:
    state = make_state(num_sequences=2, sampling=SamplingParams(beam=BeamParams(width=2)))
    state.saved = [np.array([97, 97, 97, 5], np.int32)] * 2
    assert state.known_tokens().tolist() == [97, 97, 97]


def test_only_the_first_row_of_a_group_runs_before_it_forks(make_state) -> None:
    state = make_state(num_sequences=3)
    state.rows = [4, 2, 7]
    assert state.active_rows == [4]
    state.is_forked = True
    assert state.active_rows == [4, 2, 7]


@pytest.mark.parametrize(
    ("num_preemptions", "headroom"),
    [(0, 0), (3, 0), (4, 1), (5, 3), (6, 7), (9, 63), (10, 100), (10_000, 100)],
)
def test_headroom_doubles_after_the_first_few_preemptions(
    make_state, num_preemptions: int, headroom: int
) -> None:
    state = make_state()
    state.num_preemptions = num_preemptions
    assert state.headroom_blocks(100) == headroom


def test_a_demand_is_what_is_known_now(
    make_state, make_scheduler: Callable[..., Scheduler]
) -> None:
    allocator = make_scheduler(num_blocks=16, enable_prefix_caching=True).allocator
    state = make_state(num_sequences=2, final_new_tokens=6)
    state.num_preemptions = 5
    demand = state.make_demand(allocator, max_model_len=10)
    assert (demand.num_tokens, demand.max_tokens, demand.final_tokens) == (3, 10, 9)
    assert (demand.num_sequences, demand.headroom_blocks) == (2, 3)
    assert demand.tokens is not None
    keys = allocator.prefix_keys(demand.tokens)
    assert keys is not None
    assert demand.prefix_keys is not None
    assert demand.prefix_keys.tolist() == keys.tolist()


def test_a_demand_knows_no_future_unless_told(make_state, make_scheduler) -> None:
    demand = make_state().make_demand(make_scheduler().allocator, max_model_len=32)
    assert (demand.max_tokens, demand.final_tokens) == (3 + 8, None)
