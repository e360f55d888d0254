"""Outputs of some requests as they come, while others may run in the same engine."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from types import TracebackType

from paged.engine.frontend import Frontend
from paged.engine.interrupts import held_interrupts
from paged.engine.outputs import OutputDelta
from paged.engine.request_stream import RequestStream
from paged.errors import check
from paged.scheduler.request import Request


class Generation(Iterator[tuple[int, OutputDelta]]):
    """Yields what each step adds, with the index of the request. Iterating runs the steps.

    Closing it gives up what has not ended: by `close`, at the end of a `with` block, or
    when a step raises. One that is dropped is given up by the next step of the engine.
    An interrupt waits for the end of the step; a second one breaks off what the model computes.
    """

    def __init__(self, switch: Switch, streams: Sequence[RequestStream]) -> None:
        self.streams = tuple(streams)
        self._switch = switch
        self._index_of = {stream.request.request_id: i for i, stream in enumerate(streams)}
        self._ready: deque[tuple[int, OutputDelta]] = deque()
        # Collected in the middle of a step perhaps: its requests are only noted then.
        self._on_drop = weakref.finalize(self, switch.unwanted.extend, self._index_of)
        self._on_drop.atexit = False

    def __next__(self) -> tuple[int, OutputDelta]:
        """Return the next piece, running steps until there is one."""
        while not self._ready:
            if not self._index_of:
                raise StopIteration
            try:
                with held_interrupts():
                    self._advance()
            except BaseException:
                self.close()
                raise
        return self._ready.popleft()

    def _advance(self) -> None:
        """Take what has come for these requests; run one step if that is nothing."""
        self._collect()
        if self._index_of and not self._ready:
            self._switch.step()
            self._collect()

    def _collect(self) -> None:
        for request_id, index in list(self._index_of.items()):
            is_over = self.streams[index].is_over
            self._ready.extend((index, delta) for delta in self._switch.take(request_id))
            if is_over:
                del self._index_of[request_id]
                self._switch.drop(request_id)

    def close(self) -> None:
        """Give up the requests that have not ended."""
        with held_interrupts():
            self._on_drop.detach()
            self._switch.unwanted.extend(self._index_of)
            self._index_of.clear()
            self._ready.clear()
            self._switch.abort_unwanted()

    def __enter__(self) -> Generation:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()


class Switch:
    """Runs one engine for several readers: what a step brings for others waits for them.

    unwanted: ids of requests whose reader is gone, which the next call gives up.
    """

    def __init__(self, frontend: Frontend) -> None:
        self.unwanted: deque[str] = deque()
        self._frontend = frontend
        self._unread: dict[str, deque[OutputDelta]] = {}

    def start(self, requests: Sequence[Request]) -> Generation:
        """Queue all requests or none. Raises RequestRefused."""
        streams: list[RequestStream] = []
        try:
            with held_interrupts():
                self.abort_unwanted()
                for request in requests:
                    streams.append(self._frontend.add(request))
                    self._unread[request.request_id] = deque()
                return Generation(self, streams)
        except BaseException:
            with held_interrupts():
                self.unwanted.extend(stream.request.request_id for stream in streams)
                self.abort_unwanted()
            raise

    def step(self) -> None:
        """Give up what is unwanted, run one step and keep what it brings."""
        self.abort_unwanted()
        check(self._frontend.has_work, "requests are open and the engine has nothing to do")
        for delta in self._frontend.step():
            unread = self._unread.get(delta.request_id)
            if unread is not None:
                unread.append(delta)

    def take(self, request_id: str) -> list[OutputDelta]:
        """Return what has come for a request since the last call."""
        unread = self._unread[request_id]
        taken = list(unread)
        unread.clear()
        return taken

    def drop(self, request_id: str) -> None:
        """Keep nothing more for a request."""
        self._unread.pop(request_id, None)

    def abort_unwanted(self) -> None:
        """Give up every unwanted request. Raises the first error, after the last of them."""
        errors: list[BaseException] = []
        while self.unwanted:
            request_id = self.unwanted.popleft()
            self.drop(request_id)
            try:
                self._frontend.abort(request_id)
            except BaseException as error:
                errors.append(error)
        if errors:
            raise errors[0]
