"""Work that is given up as soon as nobody waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.types import Receive

T = TypeVar("T")


async def until_disconnect(
    receive: Receive, work: Coroutine[Any, Any, T], *watching: Coroutine[Any, Any, None]
) -> T | None:
    """Do work for a client and return what it came to; None if the client has left.

    The work is cancelled where the client leaves, or where one of those that watch it ends;
    it has ended when this returns. receive: of the request, its body read.
    Raises: what the work or a watcher raises.
    """
    working = asyncio.ensure_future(work)
    others = [asyncio.ensure_future(each) for each in (_disconnect(receive), *watching)]
    tasks = (working, *others)
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        for other in others:
            if other.done():
                other.result()
        return None
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
