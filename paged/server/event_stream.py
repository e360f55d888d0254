"""A response of server-sent events that stops where its reader does."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from paged.errors import PagedError
from paged.server.disconnect import Waiting
from paged.server.protocol.error import ApiError, api_error
from paged.server.submission import Submission

# No intermediary may hold events back.
_HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-cache",
    "X-Accel-Buffering": "no",
}
_START = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()],
}

Submit = Callable[[], Coroutine[Any, Any, Submission]]
"""Sends requests to the engine. What it raises is raised before anything was sent."""


class EventStream(Response):
    """Sends requests to the engine, then events as they come, and leaves the submission's block.

    A reader that takes nothing is the connection's concern, which cuts it off: that is leaving.
    """

    def __init__(
        self,
        submit: Submit,
        events: Callable[[Submission], AsyncGenerator[bytes, None]],
    ) -> None:
        self._submit = submit
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, or what the engine says against it."""
        try:
            await self.run(receive, send)
        except (ApiError, PagedError) as error:
            # Only `submit` raises them, before anything is sent.
            await api_error(error).response()(scope, receive, send)

    async def run(self, receive: Receive, send: Send) -> None:
        """Send all of it, or as much as somebody reads. Raises: what `submit` raises."""
        async with Waiting(receive), await self._submit() as submission:
            await self._send(submission, send)

    async def _send(self, submission: Submission, send: Send) -> None:
        await send(_START)
        async with aclosing(self._events(submission)) as events:
            async for event in events:
                await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
