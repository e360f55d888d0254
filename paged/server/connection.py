"""A client's connection: uvicorn's, within bounds of time and memory."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

REFUSAL = "The head of the request is too large."


class Connection(HttpToolsProtocol):
    """Ends where no whole request comes in time, or a head without an end.

    uvicorn itself waits for ever for the end of headers, and keeps them all. The bound is that of
    `h11_max_incomplete_event_size`, on what is neither a whole head nor part of a body. Fields
    that follow a chunked body are passed over: nobody has checked them.
    """

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

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Begin to watch the connection."""
        super().connection_made(transport)
        self._watch(None)

    def data_received(self, data: bytes) -> None:
        """Parse what has come."""
        self._has_advanced = False
        super().data_received(data)
        self._num_pending_bytes = 0 if self._has_advanced else self._num_pending_bytes + len(data)
        most = self._max_pending_bytes
        if most is not None and self._num_pending_bytes > most and not self.transport.is_closing():
            self.send_400_response(REFUSAL)

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
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Keep a part of the body."""
        self._has_advanced = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End the body."""
        self._has_advanced = True
        super().on_message_complete()

    def _watch(self, before: object) -> None:
        """Close a connection that has no request now and had none all the time since before."""
        if self.transport.is_closing():
            return
        cycle = self.cycle
        is_idle = cycle is None or cycle.response_complete  # pyright: ignore[reportUnnecessaryComparison]
        state = (cycle,) if is_idle else None
        if state is not None and state == before:
            self.transport.close()
            return
        self.loop.call_later(self.timeout_keep_alive, self._watch, state)
