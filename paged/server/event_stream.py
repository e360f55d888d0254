"""A response of server-sent events that stops where its reader does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from paged.server.disconnect import until_disconnect
from paged.server.submission import Submission

_log = logging.getLogger("paged.server")


class EventStream(Response):
    """Sends events as they come, and leaves the submission's block at their end.

    write_timeout_s: a reader that takes nothing for so long, up to twice that, is given up.
    """

    def __init__(
        self, events: AsyncIterator[bytes], submission: Submission, *, write_timeout_s: float
    ) -> None:
        # No intermediary may hold events back.
        headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
        super().__init__(headers=headers, media_type="text/event-stream")
        del self.headers["content-length"]
        self._events = events
        self._submission = submission
        self._write_timeout_s = write_timeout_s
        self._num_sent = 0
        self._is_sending = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send all of it, or as much as somebody reads."""
        async with self._submission:
            try:
                await until_disconnect(receive, self._send(send), self._watch())
            except TimeoutError:
                _log.warning(
                    "a reader took nothing for %g s and is given up", self._write_timeout_s
                )

    async def _send(self, send: Send) -> None:
        start = {
            "type": "http.response.start",
            "status": self.status_code,
            "headers": self.raw_headers,
        }
        await send(start)
        async for event in self._events:
            self._is_sending = True
            await send({"type": "http.response.body", "body": event, "more_body": True})
            self._is_sending = False
            self._num_sent += 1
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _watch(self) -> None:
        """Raise TimeoutError when one event has been in its way for so long.

        A timer for each event would cost more than the event.
        """
        num_sent = -1
        while True:
            await asyncio.sleep(self._write_timeout_s)
            if self._is_sending and num_sent == self._num_sent:
                raise TimeoutError
            num_sent = self._num_sent if self._is_sending else -1
