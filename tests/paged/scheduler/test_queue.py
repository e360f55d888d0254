"""The waiting queue: order of service, and entries that were taken out of the middle."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from paged.scheduler.queue import WaitingQueue
from paged.scheduler.request import Request
from paged.scheduler.request_state import RequestState


def _state(name: str, *key: int) -> RequestState:
    request = Request(request_id=name, prompt_tokens=np.zeros(1, np.int32), max_new_tokens=1)
    priority, arrival, number = key
    return RequestState(request=request, key=(priority, arrival, number), sequence_indices=[0])


@pytest.fixture
def push() -> Callable[..., tuple[WaitingQueue, list[RequestState]]]:
    def make(*keys: tuple[int, int, int]) -> tuple[WaitingQueue, list[RequestState]]:
        queue = WaitingQueue()
        states = [_state(f"request {i}", *key) for i, key in enumerate(keys)]
        for state in states:
            queue.push(state)
        return queue, states

    return make


def test_priority_goes_before_arrival_and_arrival_before_number(push) -> None:
    queue, (a, b, c, d) = push((1, 0, 0), (0, 5, 1), (0, 2, 3), (0, 2, 2))
    assert queue.first(4) == [d, c, b, a]
    assert queue.first(9) == [d, c, b, a]
    assert queue.first(1) == [d]
    assert len(queue) == 4


def test_an_empty_queue_has_no_first() -> None:
    assert WaitingQueue().first(1) == WaitingQueue().first(2) == []


def test_a_request_can_be_taken_from_the_middle(push) -> None:
    queue, (a, b, c) = push((0, 0, 0), (0, 0, 1), (0, 0, 2))
    queue.remove(b)
    assert "request 1" not in queue
    assert "request 2" in queue
    assert queue.first(2) == [a, c]
    queue.remove(a)
    assert queue.first(1) == [c]


def test_a_request_that_comes_back_stands_once_at_its_place(push) -> None:
    queue, (a, b, c) = push((0, 0, 0), (0, 0, 1), (0, 0, 2))
    queue.remove(b)
    queue.push(b)
    assert queue.first(3) == [a, b, c]
    queue.remove(a)
    queue.remove(b)
    assert queue.first(3) == [c]


def test_an_id_used_again_does_not_wake_the_old_request(push) -> None:
    queue, (_, old, _) = push((0, 0, 0), (0, 0, 1), (0, 0, 2))
    queue.remove(old)
    new = _state("request 1", 0, 0, 3)
    queue.push(new)
    assert old not in queue.first(4)
    assert queue.first(4)[-1] is new


class QueueMachine(RuleBasedStateMachine):
    """Requests come and go; the record is a plain list."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = WaitingQueue()
        self.waiting: list[RequestState] = []
        self.removed: list[RequestState] = []
        self.num_made = 0

    @rule(name=st.sampled_from("abcd"), priority=st.integers(0, 2))
    def push_new(self, name: str, priority: int) -> None:
        if name not in self.queue:
            self.num_made += 1
            self._push(_state(name, priority, 0, self.num_made))

    @rule(data=st.data())
    def push_again(self, data: st.DataObject) -> None:
        back = [state for state in self.removed if state.request.request_id not in self.queue]
        if back:
            state = data.draw(st.sampled_from(back))
            self.removed.remove(state)
            self._push(state)

    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        if self.waiting:
            state = data.draw(st.sampled_from(self.waiting))
            self.queue.remove(state)
            self.waiting.remove(state)
            self.removed.append(state)
            self._compare()

    def _push(self, state: RequestState) -> None:
        self.queue.push(state)
        self.waiting.append(state)
        self._compare()

    def _compare(self) -> None:
        expected = sorted(self.waiting, key=lambda state: state.key)
        assert len(self.queue) == len(expected)
        for count in (1, 2, 5):
            assert self.queue.first(count) == expected[:count]


def test_random_use_agrees_with_a_list() -> None:
    run_state_machine_as_test(QueueMachine)
