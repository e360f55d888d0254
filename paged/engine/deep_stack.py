"""Calls of libraries that recurse as deep as their input is nested."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

STACK_BYTES = 256 * 2**20
"""Address space alone: memory is taken as deep as the calls go."""

_starting = threading.Lock()


def on_deep_stack(function: Callable[[], T]) -> T:
    """Call a function in a thread with a stack of `STACK_BYTES` and return its result.

    A stack that is too small ends the process, with all that it serves.
    Raises: what the function raises.
    """
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="deep-stack") as pool:
        # The size is the process's, for whichever thread starts next.
        with _starting:
            before_bytes = threading.stack_size(STACK_BYTES)
            try:
                outcome = pool.submit(function)
            finally:
                threading.stack_size(before_bytes)
        return outcome.result()
