"""Ctrl-C between consistent states."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType


class _Hold:
    """The handler of SIGINT that only takes note; a second one raises where that is allowed."""

    def __init__(self) -> None:
        self.num_heard = 0
        self.is_breakable = False

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        self.num_heard += 1
        self.break_off()

    def break_off(self) -> None:
        """Raise KeyboardInterrupt, where that is allowed and somebody has asked twice."""
        if self.is_breakable and self.num_heard > 1:
            # What is done on the way out is held as all else; its end says what there is to say.
            self.is_breakable, self.num_heard = False, 0
            raise KeyboardInterrupt


@contextmanager
def held_interrupts() -> Generator[None]:
    """Hold SIGINT while the block runs, and raise KeyboardInterrupt at its end.

    A second one raises at once in what is `breakable` of the block, and waits for that
    elsewhere. Only where SIGINT would raise, in the main thread and with Python's own handler,
    which it has again afterwards; elsewhere this does nothing. An error of the block becomes
    the context of the interrupt.
    """
    if not _is_main() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    hold = _Hold()
    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if hold.num_heard:
            raise KeyboardInterrupt


@contextmanager
def breakable() -> Generator[None]:
    """Let a second SIGINT raise at once in this part of a block that holds them.

    For what may last, and leaves nothing that its caller does not take back.
    """
    hold = signal.getsignal(signal.SIGINT)
    if not isinstance(hold, _Hold) or not _is_main():
        yield
        return
    hold.is_breakable = True
    try:
        hold.break_off()
        yield
    finally:
        hold.is_breakable = False


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()
