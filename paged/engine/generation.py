"""Outputs of some requests as they come, while others may run in the same engine."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from types import TracebackType

from paged.engine.frontend import Frontend
from paged.engine.outputs import OutputDelta
from paged.engine.request_stream import RequestStream
from paged.errors import RequestRefused, check
from paged.scheduler.request import Request


class Generation(Iterator[tuple[int, OutputDelta]]):
    """Yields what each step adds, with the index of the request. Iterating runs the steps.

    Closing it gives up what has not ended: by `close`, at the end of a `with` block, or
    when a step raises.
    """

    def __init__(self, switch: Switch, streams: Sequence[RequestStream]) -> None:
        self.streams = tuple(streams)
        self._switch = switch
        self._index_of = {stream.request.request_id: i for i, stream in enumerate(streams)}
        self._ready: deque[tuple[int, OutputDelta]] = deque()

    def __next__(self) -> tuple[int, OutputDelta]:
        """Return the next piece, running steps until there is one."""
        while not self._ready:
            self._collect()
            if self._ready:
                break
            if not self._index_of:
                raise StopIteration
            try:
                self._switch.step()
            except BaseException:
                self.close()
                raise
        return self._ready.popleft()

    def _collect(self) -> None:
        for request_id, index in list(self._index_of.items()):
            is_over = self.streams[index].is_over
            self._ready.extend((index, delta) for delta in self._switch.take(request_id))
            if is_over:
                del self._index_of[request_id]
                self._switch.drop(request_id)

    def close(self) -> None:
        """Give up the requests that have not ended."""
        for request_id in self._index_of:
            self._switch.abort(request_id)
        self._index_of.clear()
        self._ready.clear()

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
    """Runs one engine for several readers: what a step brings for others waits for them."""

    def __init__(self, frontend: Frontend) -> None:
        self._frontend = frontend
        self._unread: dict[str, deque[OutputDelta]] = {}

    def start(self, requests: Sequence[Request]) -> Generation:
        """Queue all requests or none. Raises RequestRefused."""
        streams: list[RequestStream] = []
        try:
            for request in requests:
                streams.append(self._frontend.add(request))
                self._unread[request.request_id] = deque()
        except RequestRefused:
            for stream in streams:
                self.abort(stream.request.request_id)
            raise
        return Generation(self, streams)

    def step(self) -> None:
        """Run one step and keep what it brings."""
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

    def abort(self, request_id: str) -> None:
        """Give a request up."""
        self._frontend.abort(request_id)
        self.drop(request_id)
