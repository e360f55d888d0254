"""A response of server-sent events that stops where its reader does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from paged.errors import PagedError
from paged.server.disconnect import Waiting
from paged.server.protocol.error import ApiError, api_error
from paged.server.submission import Submission

_log = logging.getLogger("paged.server")

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

    write_timeout_s: a reader that takes nothing for so long, up to twice that, is given up.
    """

    def __init__(
        self,
        submit: Submit,
        events: Callable[[Submission], AsyncGenerator[bytes, None]],
        *,
        write_timeout_s: float,
    ) -> None:
        self._submit = submit
        self._events = events
        self._write_timeout_s = write_timeout_s
        self._num_sent = 0
        self._is_sending = False
        self._timer: asyncio.TimerHandle | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, or what the engine says against it."""
        try:
            await self.run(receive, send)
        except (ApiError, PagedError) as error:
            # Only `submit` raises them, before anything is sent.
            await api_error(error).response()(scope, receive, send)

    async def run(self, receive: Receive, send: Send) -> None:
        """Send all of it, or as much as somebody reads. Raises: what `submit` raises."""
        async with Waiting(receive) as waiting, await self._submit() as submission:
            self._watch(waiting, None)
            try:
                await self._send(submission, send)
            finally:
                if self._timer is not None:
                    self._timer.cancel()

    async def _send(self, submission: Submission, send: Send) -> None:
        await send(_START)
        async with aclosing(self._events(submission)) as events:
            async for event in events:
                self._is_sending = True
                await send({"type": "http.response.body", "body": event, "more_body": True})
                self._is_sending = False
                self._num_sent += 1
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _watch(self, waiting: Waiting, num_sent_before: int | None) -> None:
        """Give up a reader that has one event before it all the time, and look again later.

        A timer for each event would cost more than the event.
        """
        num_sent = self._num_sent if self._is_sending else None
        if num_sent is not None and num_sent == num_sent_before:
            _log.warning("a reader took nothing for %g s and is given up", self._write_timeout_s)
            waiting.give_up()
            return
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._write_timeout_s, self._watch, waiting, num_sent)
