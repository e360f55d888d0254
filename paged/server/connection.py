"""A client's connection: uvicorn's, within bounds of time and memory."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import httptools
from uvicorn._types import (
    ASGI3Application,
    ASGIReceiveCallable,
    ASGISendCallable,
    ASGISendEvent,
    Scope,
)
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

INVALID = "Invalid HTTP request received."
REFUSAL = "The head of the request is too large."
NUM_STALLED = 6
"""Looks in a row at a client that takes nothing of what is ready for it, before it is cut off."""


class Connection(HttpToolsProtocol):
    """Ends where no whole request comes in time, a head without an end, or nobody reads.

    uvicorn itself waits for ever for the end of headers, and keeps them all. The bound is that of
    `h11_max_incomplete_event_size`, on what is neither a whole head nor part of a body, and on
    requests that come while others wait for their turn. Fields that follow a chunked body are
    passed over: nobody has checked them.

    A client may leave while requests of its wait: reading goes on, and whichever request runs is
    told. One who asks for another protocol gets this one, as HTTP/2 clients on plain HTTP expect.
    HTTP/1.0 knows no chunks: what has no length there ends where the connection does.
    """

    parser: httptools.HttpRequestParser

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._max_pending_bytes = config.h11_max_incomplete_event_size
        self._num_pending_bytes = 0
        self._is_in_head = False
        self._has_advanced = False
        self._is_passed_over = False
        self._running: RequestResponseCycle | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Begin to watch the connection."""
        super().connection_made(transport)
        self._watch(None, 0)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the request that runs; uvicorn tells the one that came last."""
        if self._timer is not None:
            self._timer.cancel()
        if self._running is not None and not self._running.response_complete:
            self._running.disconnected = True
            self._running.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what has come."""
        self._unset_keepalive_if_required()
        has_waiting, self._has_advanced = bool(self.pipeline), False
        try:
            self._parse(data)
        except httptools.HttpParserError:
            self.logger.warning(INVALID)
            self.send_400_response(INVALID)
        if self.transport.is_closing():
            return
        is_whole = self._has_advanced and not has_waiting
        self._num_pending_bytes = 0 if is_whole else self._num_pending_bytes + len(data)
        most = self._max_pending_bytes
        if most is not None and self._num_pending_bytes > most:
            self.send_400_response(REFUSAL)
        elif self.pipeline:
            # uvicorn reads nothing now, and would not see that the client leaves.
            self.flow.resume_reading()

    def send_400_response(self, msg: str) -> None:
        """Refuse what has come, and close.

        Where an answer is under way nothing is said: it would be taken for a part of that.
        """
        if self._running is None or self._running.response_complete:
            super().send_400_response(msg)
        else:
            self.transport.close()

    def on_message_begin(self) -> None:
        """Take headers from now on."""
        self._is_in_head = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header; spaces after its value are none of it, as RFC 9110, 5.5 has it."""
        if self._is_in_head:
            super().on_header(name, value.rstrip(b" \t"))

    def on_headers_complete(self) -> None:
        """Start the request."""
        self._is_in_head, self._has_advanced = False, True
        self._is_passed_over = self._asks_for_other_protocol()
        if not self._is_passed_over:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Keep a part of the body."""
        self._has_advanced = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End the body."""
        self._has_advanced = True
        if not self._is_passed_over:
            super().on_message_complete()

    def _parse(self, data: bytes) -> None:
        """Parse; a request for another protocol a second time, for the parser skips its body."""
        rest = memoryview(data)
        while rest:
            try:
                self.parser.feed_data(rest)
                return
            except httptools.HttpParserUpgrade as upgrade:
                rest = rest[upgrade.args[0] :]
            if not self._is_passed_over:
                return
            self.parser.feed_data(self._head_without_upgrade())

    def _asks_for_other_protocol(self) -> bool:
        """Say whether the head that was read does; CONNECT does by its method."""
        return self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT"

    def _head_without_upgrade(self) -> bytes:
        version = self.parser.get_http_version().encode()
        lines = [b"%b %b HTTP/%b" % (self.parser.get_method(), self.url, version)]
        lines += [b"%b: %b" % header for header in self.headers if header[0] != b"upgrade"]
        return b"\r\n".join([*lines, b"", b""])

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._running, self._num_pending_bytes = cycle, 0
        is_old = cycle.scope["http_version"] == "1.0"
        super()._start_asgi_task(cycle, partial(_until_closed, cycle, app) if is_old else app)

    def _watch(self, before: object, num_alike: int) -> None:
        """Look whether anything has changed since before, and again later.

        A connection that has no request now and had none then is closed; one whose client has
        taken nothing for long is cut off, with what is still to be sent.
        """
        cycle, num_unsent_bytes = self.cycle, self.transport.get_write_buffer_size()
        is_idle = cycle is None or cycle.response_complete  # pyright: ignore[reportUnnecessaryComparison]
        state = (cycle if is_idle else None, is_idle, num_unsent_bytes)
        num_alike = num_alike + 1 if state == before else 0
        if num_unsent_bytes and num_alike >= NUM_STALLED:
            self.logger.warning("a client took nothing of its answer for long and is cut off")
            self.transport.abort()
            return
        if is_idle and num_alike and not self.transport.is_closing():
            self.transport.close()
        self._timer = self.loop.call_later(self.timeout_keep_alive, self._watch, state, num_alike)


async def _until_closed(
    cycle: RequestResponseCycle,
    app: ASGI3Application,
    scope: Scope,
    receive: ASGIReceiveCallable,
    send: ASGISendCallable,
) -> None:
    """Let an application answer without chunks, whether its answer has a length or not."""
    has_length = True

    async def send_plain(message: ASGISendEvent) -> None:
        nonlocal has_length
        if message["type"] == "http.response.start":
            headers = message.get("headers", [])
            has_length = any(name.lower() == b"content-length" for name, _ in headers)
            if not has_length:
                # uvicorn chunks what nobody has decided on.
                cycle.chunked_encoding = False
        elif message["type"] == "http.response.body" and not has_length:
            cycle.expected_content_length = len(message["body"])
        await send(message)

    await app(scope, receive, send_plain)
