"""Rows of the running batch: who owns them, what is known, in which order they run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from paged.scheduler.request import Request
from paged.scheduler.request_state import RequestState
from paged.scheduler.rows import SequenceRows


@pytest.fixture
def arrays() -> SequenceRows:
    return SequenceRows(max_rows=6, max_model_len=10, block_size=4)


Make = Callable[..., RequestState]


@pytest.fixture
def make_state(make_request: Callable[..., Request]) -> Make:
    def make(number: int, *rows: int) -> RequestState:
        return RequestState(
            request=make_request(f"request {number}"),
            key=(0, 0.0, number),
            sequence_indices=list(range(len(rows))),
            rows=list(rows),
        )

    return make


def _rows(*rows: int) -> np.ndarray:
    return np.array(rows, np.int64)


def test_tokens_are_as_wide_as_whole_blocks(arrays: SequenceRows) -> None:
    assert arrays.tokens.shape == (6, 12)


def test_claimed_rows_have_an_owner_and_an_end(arrays: SequenceRows, make_state: Make) -> None:
    state = make_state(0, 2, 4)
    arrays.claim(state, 9)
    assert [arrays.owner_of(row) for row in (2, 4)] == [state, state]
    assert arrays.end_tokens[[2, 4]].tolist() == [9, 9]


def test_a_row_without_owner_is_an_error(arrays: SequenceRows) -> None:
    with pytest.raises(KeyError, match="row 3 has no owner"):
        arrays.owner_of(3)


def test_known_tokens_are_a_copy(arrays: SequenceRows) -> None:
    arrays.start(1, np.array([5, 6, 7], np.int32))
    known = arrays.known(1)
    arrays.tokens[1] = 0
    assert known.tolist() == [5, 6, 7]
    assert int(arrays.num_tokens[1]) == 3


def test_a_token_is_appended_to_each_row(arrays: SequenceRows) -> None:
    for row, tokens in ((0, [5, 6, 7]), (5, [8])):
        arrays.start(row, np.array(tokens, np.int32))
    assert arrays.append(_rows(5, 0), np.array([2, 3], np.int32)).tolist() == [2, 4]
    assert (arrays.known(0).tolist(), arrays.known(5).tolist()) == ([5, 6, 7, 3], [8, 2])


def test_shared_ones_cannot_be_written_to(arrays: SequenceRows) -> None:
    assert arrays.ones.tolist() == [1] * 6
    with pytest.raises(ValueError, match="read-only"):
        arrays.ones[0] = 0


def test_rows_run_in_the_order_of_their_requests(arrays: SequenceRows, make_state: Make) -> None:
    states = {number: make_state(number, *rows) for number, rows in ((1, (0, 3)), (2, (1,)))}
    states[0] = make_state(0, 5)
    for number in (1, 2, 0):
        arrays.claim(states[number], 9)
        arrays.run(_rows(*states[number].rows))
    assert arrays.running.tolist() == [5, 0, 3, 1]


def test_later_rows_of_a_request_run_behind_its_first(
    arrays: SequenceRows, make_state: Make
) -> None:
    group, other = make_state(0, 4, 2), make_state(1, 0)
    for state in (group, other):
        arrays.claim(state, 9)
        arrays.run(_rows(*state.rows[:1]))
    arrays.run(_rows(2))
    assert arrays.running.tolist() == [4, 2, 0]


@pytest.mark.parametrize(
    ("stopped", "left"),
    [([3], [5, 0, 1]), ([0, 1], [5, 3]), ([2], [5, 0, 3, 1]), ([], [5, 0, 3, 1])],
)
def test_stopped_rows_leave_the_order_as_it_was(
    arrays: SequenceRows, stopped: list[int], left: list[int]
) -> None:
    arrays.running = np.array([5, 0, 3, 1])
    arrays.stop(np.array(stopped, np.int64))
    assert arrays.running.tolist() == left
    arrays.stop(np.array(stopped, np.int64))
    assert arrays.running.tolist() == left


def test_a_row_that_stopped_can_run_again(arrays: SequenceRows) -> None:
    arrays.running = _rows(5, 0, 3)
    arrays.stop(_rows(0, 3))
    arrays.running = _rows(5, 3, 0)
    arrays.stop(_rows(5))
    assert arrays.running.tolist() == [3, 0]


def test_rows_of_several_requests_are_put_in_order(arrays: SequenceRows, make_state: Make) -> None:
    for number, row in ((2, 0), (0, 1), (1, 2)):
        arrays.claim(make_state(number, row), 9)
    arrays.run(_rows(1, 0))
    arrays.run(_rows(2))
    assert arrays.running.tolist() == [1, 2, 0]
