"""Work that is given up as soon as nobody waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, TypeVar

from starlette.types import Receive

T = TypeVar("T")


class Waiting:
    """A block of work for a client, which ends early where the client leaves.

    What it awaits then is cancelled, and nothing is raised out of it. Only this listens to the
    client, in a task of its own: the work stays in the caller's, for a task costs more than most
    of what a request needs.

    receive: of the request, its body read.
    """

    def __init__(self, receive: Receive) -> None:
        self.is_given_up = False
        self._receive = receive
        self._listening: asyncio.Task[None] | None = None
        self._working: asyncio.Task[Any] | None = None
        self._num_cancelled = 0

    def give_up(self) -> None:
        """End the block now; nothing happens where it has ended."""
        if self._working is not None and not self.is_given_up:
            self.is_given_up = True
            self._working.cancel()

    async def __aenter__(self) -> Waiting:
        self._working = asyncio.current_task()
        if self._working is not None:
            self._num_cancelled = self._working.cancelling()
        self._listening = asyncio.create_task(self._listen())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> bool:
        working, self._working = self._working, None
        if self._listening is not None:
            self._listening.cancel()
        if not self.is_given_up or working is None:
            return False
        # As `asyncio.timeout` does: others may want to cancel the task too.
        is_own = working.uncancel() <= self._num_cancelled
        return is_own and kind is asyncio.CancelledError

    async def _listen(self) -> None:
        try:
            while (await self._receive())["type"] != "http.disconnect":
                pass
        finally:
            self.give_up()


async def until_disconnect(receive: Receive, work: Coroutine[Any, Any, T]) -> T | None:
    """Do work for a client and return what it came to; None if the client has left.

    receive: of the request, its body read. Raises: what the work raises.
    """
    async with Waiting(receive):
        return await work
    return None
