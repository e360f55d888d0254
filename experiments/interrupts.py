"""Interrupts that wait for what must not stop half-way."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self


class HeldInterrupts:
    """Keeps Ctrl-C and a polite kill waiting inside its block; they are delivered at its end.

    For what must not stop half-way: making a folder that a `try` removes again, or starting a
    process. By handlers and not by a signal mask: the threads of numpy take the signal all the
    same, and Python then interrupts the main thread. The engine's `held_interrupts` is another
    thing: of a step, which may be long, it holds Ctrl-C alone and lets a second one through.
    """

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._came: list[int] = []

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # only it may, and only it is hit
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, lambda n, _: self._came.append(n))
        return self

    def __exit__(self, *_error: object) -> None:
        self._release()

    @contextmanager
    def let_through(self) -> Iterator[None]:
        """Deliver inside the block what came meanwhile, and what comes."""
        try:
            self._release()
            yield
        finally:
            self.__enter__()

    def _release(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()
        while self._came:
            signal.raise_signal(self._came.pop())
