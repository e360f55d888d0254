"""Real interrupts, held while a block runs."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable

import pytest

from paged.engine.interrupts import breakable, held_interrupts

CtrlC = Callable[[], None]


def _hold(*actions: CtrlC) -> None:
    with held_interrupts():
        for action in actions:
            action()


def test_an_interrupt_waits_for_the_end_of_the_block(ctrl_c: CtrlC) -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        _hold(ctrl_c, lambda: done.append("block"))
    assert done == ["block"]
    _hold(lambda: done.append("next"))
    assert done == ["block", "next"]


def _break(*actions: CtrlC) -> None:
    with breakable():
        for action in actions:
            action()


def test_a_second_interrupt_raises_at_once_where_it_may(ctrl_c: CtrlC) -> None:
    done: list[str] = []

    def part() -> None:
        _break(lambda: done.append("first"), ctrl_c, lambda: done.append("second"))

    with pytest.raises(KeyboardInterrupt) as caught:
        _hold(ctrl_c, part, lambda: done.append("third"))
    assert done == ["first"]
    assert caught.value.__context__ is None


def test_a_second_interrupt_waits_for_where_it_may_raise(ctrl_c: CtrlC) -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        _hold(ctrl_c, ctrl_c, lambda: done.append("held"), lambda: _break(lambda: done.append("")))
    assert done == ["held"]
    with pytest.raises(KeyboardInterrupt):
        _hold(_break, ctrl_c, ctrl_c, lambda: done.append("to the end"))
    assert done == ["held", "to the end"]


def test_what_is_done_on_the_way_out_is_held(ctrl_c: CtrlC) -> None:
    done: list[str] = []

    def part() -> None:
        try:
            _break(ctrl_c, ctrl_c)
        finally:
            ctrl_c()
            ctrl_c()
            done.append("taken back")

    with pytest.raises(KeyboardInterrupt):
        _hold(part)
    assert done == ["taken back"]


def test_one_interrupt_lets_a_part_that_may_be_broken_off_end(ctrl_c: CtrlC) -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        _hold(lambda: _break(ctrl_c, lambda: done.append("part")), lambda: done.append("block"))
    assert done == ["part", "block"]


def test_a_part_that_may_be_broken_off_alone_changes_nothing(ctrl_c: CtrlC) -> None:
    with pytest.raises(KeyboardInterrupt):
        _break(ctrl_c)


def test_an_interrupt_outside_a_block_raises_as_ever(ctrl_c: CtrlC) -> None:
    with held_interrupts():
        pass
    with pytest.raises(KeyboardInterrupt):
        ctrl_c()


def test_an_error_of_the_block_is_raised_and_comes_before_the_interrupt(ctrl_c: CtrlC) -> None:
    error = ArithmeticError("broken")

    def fail() -> None:
        raise error

    with pytest.raises(ArithmeticError):
        _hold(fail)
    with pytest.raises(KeyboardInterrupt) as caught:
        _hold(ctrl_c, fail)
    assert caught.value.__context__ is error


def test_an_inner_block_leaves_the_holding_to_the_outer_one(ctrl_c: CtrlC) -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        _hold(_hold, ctrl_c, lambda: done.append("outer"))
    with pytest.raises(KeyboardInterrupt):
        _hold(lambda: _hold(ctrl_c), lambda: done.append("outer"))
    assert done == ["outer", "outer"]


@pytest.mark.usefixtures("ctrl_c")
def test_a_handler_of_the_users_own_hears_of_it_at_once() -> None:
    heard: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    try:
        with held_interrupts():
            signal.raise_signal(signal.SIGINT)
            assert heard == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.usefixtures("ctrl_c")
def test_other_threads_hold_nothing() -> None:
    handlers: list[object] = []

    def run() -> None:
        with held_interrupts():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert handlers == [signal.default_int_handler]
