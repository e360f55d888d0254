"""Load by bare sockets: a client that does little more than count bytes and times."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection
from time import monotonic, perf_counter
from typing import Any

PATH = "/v1/chat/completions"
_EVENT = b"data: "
_LAST_CHUNK = b"0\r\n\r\n"
_HEAD_END = b"\r\n\r\n"


class LoadFailed(RuntimeError):
    """A server answered something else than it was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Requests that are all alike but for their prompts.

    num_streams: requests at once, each on a connection of its own that is used again.
    output_tokens: of each request. step_s: what steps of the engine last, 0 for no time.
    """

    num_streams: int
    num_requests: int
    output_tokens: int
    is_streamed: bool
    step_s: float = 0.0

    @property
    def num_tokens(self) -> int:
        """Output tokens of all requests together."""
        return self.num_requests * self.output_tokens

    def body(self, number: int, model: str) -> dict[str, Any]:
        """Return what is sent as the request of this number."""
        return {
            "model": model,
            "messages": [{"role": "user", "content": prompt(number)}],
            "max_tokens": self.output_tokens,
            "stream": self.is_streamed,
        }


def prompt(number: int) -> str:
    """Return a text of some 130 tokens that shares its beginning with no other number's."""
    return f"{number}: " + "Which blocks of memory does a request hold, and since when? " * 9


@dataclass(slots=True, kw_only=True)
class Seen:
    """What clients saw of a load.

    seconds: from the first request to the last end. num_events: pieces of streams.
    delays_s: of pieces after the step that made them, for steps that end on time.
    """

    seconds: float = 0.0
    num_events: int = 0
    delays_s: list[float] = field(default_factory=list[float])


def run_load(load: Load, *, port: int, model: str) -> Seen:
    """Send a load and wait for the last answer. Raises LoadFailed."""
    return asyncio.run(_run(load, port, model))


def recorded(*, port: int, model: str) -> tuple[str, list[str]]:
    """Ask for both kinds of answer and return them as texts.

    The stream's is cut up: what comes before the first token, a token, what ends with the last
    one, and the end.
    """
    whole, stream = (
        _body(
            Load(num_streams=1, num_requests=1, output_tokens=2, is_streamed=is_streamed),
            port,
            model,
        )
        for is_streamed in (False, True)
    )
    opening, token, _, last, end = (f"{event}\n\n" for event in stream.split("\n\n")[:-1])
    return whole, [opening, token, last, end]


def _body(load: Load, port: int, model: str) -> str:
    connection = HTTPConnection("127.0.0.1", port)
    try:
        head = {"Content-Type": "application/json"}
        connection.request("POST", PATH, json.dumps(load.body(0, model)), head)
        answer = connection.getresponse()
        text = answer.read().decode()
        if answer.status != 200:
            raise LoadFailed(f"expected the status 200, got {answer.status}: {text:.500}")
        return text
    finally:
        connection.close()


async def _run(load: Load, port: int, model: str) -> Seen:
    loop, seen = asyncio.get_running_loop(), Seen()
    run = _Run(load, model, seen, loop.create_future())
    pairs = [
        await loop.create_connection(lambda: _Connection(run), "127.0.0.1", port)
        for _ in range(load.num_streams)
    ]
    begin_s = perf_counter()
    for _, connection in pairs:
        connection.send_next()
    try:
        await run.ended
    finally:
        for transport, _ in pairs:
            transport.abort()
    seen.seconds = perf_counter() - begin_s
    return seen


class _Run:
    """What the connections of a load share. ended: set with the last answer."""

    def __init__(self, load: Load, model: str, seen: Seen, ended: asyncio.Future[None]) -> None:
        self.load = load
        self.seen = seen
        self.ended = ended
        self._requests = [_post(load.body(number, model)) for number in range(load.num_requests)]
        self._num_left = load.num_requests

    def next_request(self) -> bytes | None:
        return self._requests.pop() if self._requests else None

    def end_one(self) -> None:
        self._num_left -= 1
        if not self._num_left and not self.ended.done():
            self.ended.set_result(None)

    def fail(self, what: str) -> None:
        if not self.ended.done():
            self.ended.set_exception(LoadFailed(what))


class _Connection(asyncio.Protocol):
    """One connection, which sends the next request when it has the whole answer to the last."""

    def __init__(self, run: _Run) -> None:
        self._run = run
        self._transport: asyncio.Transport | None = None
        # Of the answer so far; a stream's without the pieces that were counted.
        self._answer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self._run.fail(f"the server closed a connection: {exc}")

    def send_next(self) -> None:
        request = self._run.next_request()
        if request is not None and self._transport is not None:
            self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        run = self._run
        if not self._answer and not data.startswith(b"HTTP/1.1 200"):
            run.fail(f"expected the status 200, got {data[:500]!r}")
        num_events = data.count(_EVENT)
        if num_events:
            run.seen.num_events += num_events
            if run.load.step_s:
                run.seen.delays_s.append(monotonic() % run.load.step_s)
        self._answer += data
        if self._is_whole():
            self._answer = b""
            run.end_one()
            self.send_next()
        elif run.load.is_streamed:
            self._answer = self._answer[-len(_LAST_CHUNK) :]

    def _is_whole(self) -> bool:
        if self._run.load.is_streamed:
            return self._answer.endswith(_LAST_CHUNK)
        head, found, body = self._answer.partition(_HEAD_END)
        return bool(found) and len(body) == _content_length(head)


def _content_length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    raise LoadFailed(f"expected a content-length, got {head!r}")


def _post(body: Mapping[str, Any]) -> bytes:
    data = json.dumps(body).encode()
    head = (
        f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(data)}\r\n\r\n"
    )
    return head.encode() + data
