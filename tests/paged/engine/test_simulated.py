"""The simulated executor on hand-made batches."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from paged.engine.simulated import SimulatedExecutor
from paged.engine.step_time import AffineStepTime
from paged.errors import ConfigError
from paged.scheduler.batch import Admitted, Batch
from paged.scheduler.request import Request
from paged.types import TokenArray

MakeBatch = Callable[..., Batch]
MakeRequest = Callable[..., Request]
MakeAdmitted = Callable[..., Admitted]

STEP_TIME = AffineStepTime(base_s=1.0, context_s_per_token=0.0, scheduled_s_per_token=0.5)


def count_up(request: Request) -> TokenArray | None:
    """Output token i of a request is 100 + i, unless its id says unknown."""
    if request.request_id == "unknown":
        return None
    return np.arange(100, 100 + (request.final_new_tokens or 0), dtype=np.int32)


def test_a_sequence_stops_exactly_at_its_known_length(
    make_batch: MakeBatch, make_request: MakeRequest, make_admitted: MakeAdmitted
) -> None:
    executor = SimulatedExecutor(STEP_TIME, max_rows=8)
    admitted = make_admitted(make_request("a", 10, 3), [5])
    prefill = executor.execute(make_batch((5, 0, 10, 1), admitted=[admitted]))
    assert prefill.is_stopped.tolist() == [False]
    assert executor.execute(make_batch((5, 10, 1, 1))).is_stopped.tolist() == [False]
    assert executor.execute(make_batch((5, 11, 1, 1))).is_stopped.tolist() == [True]


def test_a_sequence_of_one_token_stops_with_its_prefill(
    make_batch: MakeBatch, make_request: MakeRequest, make_admitted: MakeAdmitted
) -> None:
    executor = SimulatedExecutor(STEP_TIME, max_rows=8)
    admitted = make_admitted(make_request("a", 10, 1), [0])
    result = executor.execute(make_batch((0, 0, 10, 1), admitted=[admitted]))
    assert result.is_stopped.tolist() == [True]


def test_without_a_known_length_the_output_limit_stops(
    make_batch: MakeBatch, make_request: MakeRequest, make_admitted: MakeAdmitted
) -> None:
    executor = SimulatedExecutor(STEP_TIME, max_rows=8)
    admitted = make_admitted(make_request("a", 10, None), [0])
    result = executor.execute(make_batch((0, 71, 1, 1), admitted=[admitted]))
    assert result.is_stopped.tolist() == [False]
    assert executor.execute(make_batch((0, 72, 1, 1))).is_stopped.tolist() == [True]


def test_unfinished_prompts_draw_nothing_and_groups_draw_once_per_sequence(
    make_batch: MakeBatch, make_request: MakeRequest, make_admitted: MakeAdmitted
) -> None:
    executor = SimulatedExecutor(STEP_TIME, max_rows=8)
    admitted = [
        make_admitted(make_request("chunked", 40, 2), [0]),
        make_admitted(make_request("group", 8, 1, num_sequences=3), [1, 2, 3]),
        make_admitted(make_request("single", 8, 2), [4]),
    ]
    result = executor.execute(
        make_batch((0, 0, 16, 0), (1, 0, 8, 3), (4, 0, 8, 1), admitted=admitted)
    )
    assert result.is_stopped.tolist() == [True, True, True, False]
    assert result.tokens.tolist() == [0, 0, 0, 0]
    assert result.duration_s == 1.0 + 0.5 * 32


def test_known_tokens_come_out_by_position_and_again_after_a_preemption(
    make_batch: MakeBatch, make_request: MakeRequest, make_admitted: MakeAdmitted
) -> None:
    executor = SimulatedExecutor(STEP_TIME, max_rows=8, output_tokens=count_up)
    short, long = make_request("short", 4, 2), make_request("long", 6, 5)
    admitted = [make_admitted(short, [0]), make_admitted(long, [1])]
    first = executor.execute(make_batch((0, 0, 4, 1), (1, 0, 6, 1), admitted=admitted))
    assert first.tokens.tolist() == [100, 100]
    second = executor.execute(make_batch((0, 4, 1, 1), (1, 6, 1, 1)))
    assert second.tokens.tolist() == [101, 101]
    again = make_admitted(long, [7], is_resumed=True)
    third = executor.execute(make_batch((7, 0, 8, 1), admitted=[again]))
    assert third.tokens.tolist() == [102]


def test_a_row_forgets_the_tokens_of_its_last_owner(
    make_batch: MakeBatch, make_request: MakeRequest, make_admitted: MakeAdmitted
) -> None:
    executor = SimulatedExecutor(STEP_TIME, max_rows=8, output_tokens=count_up)
    known = make_admitted(make_request("known", 4, 1), [0])
    assert executor.execute(make_batch((0, 0, 4, 1), admitted=[known])).tokens.tolist() == [100]
    unknown = make_admitted(make_request("unknown", 4, 1), [0])
    result = executor.execute(make_batch((0, 0, 4, 1), admitted=[unknown]))
    assert result.tokens.tolist() == [0]


def test_too_few_known_tokens_are_refused(
    make_batch: MakeBatch, make_request: MakeRequest, make_admitted: MakeAdmitted
) -> None:
    executor = SimulatedExecutor(
        STEP_TIME, max_rows=8, output_tokens=lambda _request: np.zeros(2, np.int32)
    )
    batch = make_batch((0, 0, 4, 1), admitted=[make_admitted(make_request("a", 4, 3), [0])])
    with pytest.raises(ConfigError, match="request a: expected 3 known output tokens, got 2"):
        executor.execute(batch)


def test_result_types(
    make_batch: MakeBatch, make_request: MakeRequest, make_admitted: MakeAdmitted
) -> None:
    executor = SimulatedExecutor(STEP_TIME, max_rows=8, output_tokens=count_up)
    admitted = make_admitted(make_request("a", 4, 3), [0])
    result = executor.execute(make_batch((0, 0, 4, 1), admitted=[admitted]))
    assert result.tokens.dtype == np.int32
    assert result.is_stopped.dtype == np.bool_
