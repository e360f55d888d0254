"""Ctrl-C between consistent states."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def held_interrupts() -> Generator[None]:
    """Hold SIGINT while the block runs, and raise KeyboardInterrupt at its end.

    A second one within the block raises at once. Only where SIGINT would raise, in the main
    thread and with Python's own handler, which it has again afterwards; elsewhere this does
    nothing. An error of the block becomes the context of the interrupt.
    """
    if not _is_raising():
        yield
        return
    is_interrupted = False

    def hold(_number: int, _frame: FrameType | None) -> None:
        nonlocal is_interrupted
        # First: the next one raises, even one that comes while the block is being left.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        is_interrupted = True

    signal.signal(signal.SIGINT, hold)
    try:
        yield
    except KeyboardInterrupt:
        is_interrupted = False  # The second one: it says what there is to say.
        raise
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if is_interrupted:
            raise KeyboardInterrupt


def _is_raising() -> bool:
    if threading.current_thread() is not threading.main_thread():
        return False
    return signal.getsignal(signal.SIGINT) is signal.default_int_handler
