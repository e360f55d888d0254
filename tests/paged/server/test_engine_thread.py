"""The engine's thread: commands in order, before the next step; what it reports."""

from __future__ import annotations

import queue
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from paged.server.engine_thread import EngineThread, Reports


class Toy:
    """An engine that has so many steps to run."""

    def __init__(self) -> None:
        self.left = 0
        self.log: list[str] = []

    @property
    def has_work(self) -> bool:
        return self.left > 0

    def step(self) -> list[str]:
        self.left -= 1
        self.log.append("step")
        return ["delta"] if self.left else []


def _started(make: Any) -> tuple[EngineThread, queue.Queue[Any]]:
    reported: queue.Queue[Any] = queue.Queue()
    reports = Reports(ready=reported.put, stepped=reported.put, died=reported.put)
    thread = EngineThread(make, reports)
    thread.start()
    return thread, reported


def test_commands_are_done_in_order_and_steps_run_while_there_is_work() -> None:
    toy = Toy()
    thread, reported = _started(lambda: toy)
    assert reported.get(timeout=10) is toy

    def begin(frontend: Any) -> None:
        thread.put(lambda _: frontend.log.append("second"))
        frontend.log.append("first")
        frontend.left = 2

    thread.put(begin)
    assert reported.get(timeout=10) == ["delta"]
    thread.put(lambda _: toy.log.append("last"))
    assert thread.stop(10)
    assert toy.log[:3] == ["first", "second", "step"]
    assert sorted(toy.log) == ["first", "last", "second", "step", "step"]
    # A step that added nothing is no message.
    assert reported.empty()


@pytest.mark.parametrize("where", ["make", "step", "command"])
def test_whatever_breaks_it_is_told(where: str) -> None:
    error = SystemExit(5)

    def fail(*_: Any) -> NoReturn:
        raise error

    broken = SimpleNamespace(has_work=where == "step", step=fail)
    thread, reported = _started(fail if where == "make" else lambda: broken)
    if where != "make":
        assert reported.get(timeout=10) is broken
    if where == "command":
        thread.put(fail)
    assert reported.get(timeout=10) is error
    assert thread.stop(10)


def test_a_step_that_hangs_does_not_hold_its_owner() -> None:
    free: queue.Queue[None] = queue.Queue()
    thread, reported = _started(Toy)
    reported.get(timeout=10)
    thread.put(lambda _: free.get(timeout=30))
    assert not thread.stop(0.05)
    free.put(None)
    assert thread.stop(10)
