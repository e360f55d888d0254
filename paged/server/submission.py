"""Requests that were sent to the engine together, as the event loop sees them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from types import TracebackType

from paged.engine.outputs import OutputDelta
from paged.engine.request_stream import RequestStream, sampling_of
from paged.scheduler.request import Request

IndexedDelta = tuple[int, OutputDelta]
"""What was added to a sequence, after the index of its request."""


class Submission:
    """Pieces of output as they come; leaving its `async with` block gives up what still runs.

    streams: one for each request, once the engine has taken them. Read what they say of
        prompts when a first piece has come: the engine writes nothing there after it.
    """

    def __init__(self, requests: Sequence[Request], give_up: Callable[[Submission], None]) -> None:
        self.requests = tuple(requests)
        self.streams: tuple[RequestStream, ...] = ()
        self._num_running = [sampling_of(request).n for request in requests]
        self._give_up = give_up
        self._ready: list[IndexedDelta] = []
        # Set where somebody waits for more.
        self._wake: asyncio.Future[None] | None = None
        self._error: Exception | None = None

    def push(self, index: int, delta: OutputDelta) -> bool:
        """Take what a step added to a request; say whether that was the last of it."""
        self._ready.append((index, delta))
        self._num_running[index] -= delta.reason is not None
        self._call_reader()
        return self._num_running[index] == 0

    def fail(self, error: Exception) -> None:
        """Let the reader know that nothing more comes."""
        self._error = error
        self._call_reader()

    async def pieces(self) -> list[IndexedDelta] | None:
        """Wait for more and return what has come since; None once every sequence has ended.

        Raises: EngineStopped, as soon as nothing more will come.
        """
        if not self._ready and not any(self._num_running):
            return None
        if not self._ready and self._error is None:
            # An `asyncio.Event` takes several times as long, for each token of each stream.
            self._wake = asyncio.get_running_loop().create_future()
            await self._wake
        if self._error is not None:
            raise self._error
        ready, self._ready = self._ready, []
        return ready

    def _call_reader(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    async def __aenter__(self) -> Submission:
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._give_up(self)
