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

    write_timeout_s: a reader that takes nothing for so long is given up.
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

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send all of it, or as much as somebody reads."""
        async with self._submission:
            try:
                await until_disconnect(receive, self._send(send))
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
            async with asyncio.timeout(self._write_timeout_s):
                await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
