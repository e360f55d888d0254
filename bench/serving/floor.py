"""The floor of the stack: the same bytes from a bare application that knows nothing of engines."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator

from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from bench.serving.instant import Pace


class Ticker:
    """Wakes everybody who waits at each end of a step."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._ended: asyncio.Event | None = None

    async def tick(self) -> None:
        """Wait for the next end of a step; without a length, let others run once."""
        step_s = self._pace.step_s
        if not step_s:
            await asyncio.sleep(0)
            return
        if self._ended is None:
            self._ended = asyncio.Event()
            left_s = step_s - time.monotonic() % step_s
            asyncio.get_running_loop().call_later(left_s, self._end, self._ended)
        await self._ended.wait()

    def _end(self, ended: asyncio.Event) -> None:
        self._ended = None
        ended.set()


class Floor:
    """Answers every request with the same answer, an event at each step.

    whole: body of one that does not stream. events: of a stream: what comes before the first
    token, a token, what ends with the last one, and the end.
    """

    def __init__(self, pace: Pace, *, whole: bytes, events: list[bytes]) -> None:
        self._ticker = Ticker(pace)
        self._whole = whole
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        asked = json.loads(body)
        if not asked["stream"]:
            await self._ticker.tick()
            await Response(self._whole, media_type="application/json")(scope, receive, send)
            return
        stream = self._stream(asked["max_tokens"])
        await StreamingResponse(stream, media_type="text/event-stream")(scope, receive, send)

    async def _stream(self, num_tokens: int) -> AsyncIterator[bytes]:
        opening, token, last, end = self._events
        yield opening
        for place in range(num_tokens):
            await self._ticker.tick()
            yield token if place < num_tokens - 1 else token + last
        yield end
