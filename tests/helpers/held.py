"""An engine that stands still while a test does something to its server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.helpers.live_server import LiveServer


@contextmanager
def held(server: LiveServer) -> Iterator[None]:
    """Let the engine do nothing inside the block."""
    held, free = threading.Event(), threading.Event()
    holding = threading.Thread(target=server.ask, args=(lambda _: (held.set(), free.wait(30)),))
    holding.start()
    held.wait(30)
    try:
        yield
    finally:
        free.set()
        holding.join()
