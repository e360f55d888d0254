"""Interrupts wait for the end of a block, in spite of other threads."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from experiments.interrupts import HeldInterrupts


@pytest.fixture(autouse=True)
def _raising():
    """Let both signals raise; a job in the background of a shell is started ignoring the one."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_waits_for_the_end_of_the_block(sent):
    done = []

    def interrupted():
        with HeldInterrupts():
            os.kill(os.getpid(), sent)
            done.append("inside")
        done.append("after")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert done == ["inside"]


def test_a_signal_that_another_thread_takes_waits_too():
    """Numpy's threads take signals that the main thread masks; Python still runs its handler."""
    done = []

    def interrupted():
        with HeldInterrupts():
            killer = threading.Thread(target=signal.raise_signal, args=(signal.SIGTERM,))
            killer.start()
            killer.join()
            done.append("inside")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert done == ["inside"]


def test_what_is_let_through_is_delivered_there_and_only_there():
    done = []

    def interrupted():
        with HeldInterrupts() as held:
            os.kill(os.getpid(), signal.SIGINT)
            try:
                with held.let_through():
                    done.append("never")
            except KeyboardInterrupt:
                done.append("let through")
            os.kill(os.getpid(), signal.SIGINT)
            done.append("held again")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert done == ["let through", "held again"]


def test_handlers_are_as_before():
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with HeldInterrupts() as held, held.let_through():
        assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_other_threads_hold_nothing():
    failures = []

    def run():
        try:
            with HeldInterrupts() as held, held.let_through():
                pass
        except ValueError as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert failures == []
