"""Work for a client that leaves is given up, whatever it waits for."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from paged.server.disconnect import Waiting, until_disconnect


class Client:
    """What a client sends: its body, and that it leaves when told to."""

    def __init__(self) -> None:
        self.has_left = asyncio.Event()
        self._messages = [{"type": "http.request", "body": b""}]

    async def receive(self) -> dict[str, Any]:
        if self._messages:
            return self._messages.pop()
        await self.has_left.wait()
        return {"type": "http.disconnect"}


def test_the_work_is_done_while_the_client_stays() -> None:
    async def work() -> int:
        await asyncio.sleep(0)
        return 5

    async def run() -> int | None:
        return await until_disconnect(Client().receive, work())

    assert asyncio.run(run()) == 5


def test_work_is_cancelled_and_over_when_the_client_has_left() -> None:
    ended: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("cancelled")

    async def run() -> None:
        client = Client()
        asyncio.get_running_loop().call_later(0.01, client.has_left.set)
        assert await until_disconnect(client.receive, work()) is None
        assert ended == ["cancelled"]
        await check_nobody_listens()

    asyncio.run(run())


def test_an_error_of_the_work_is_raised_and_nobody_listens_any_more() -> None:
    async def work() -> None:
        raise ValueError("no")

    async def run() -> None:
        with pytest.raises(ValueError, match="no"):
            await until_disconnect(Client().receive, work())
        await check_nobody_listens()

    asyncio.run(run())


def test_cancelling_the_caller_cancels_the_work() -> None:
    ended: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    async def run() -> None:
        task = asyncio.ensure_future(until_disconnect(Client().receive, work()))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended == ["cancelled"]

    asyncio.run(run())


def test_a_block_can_be_given_up_from_outside_and_raises_nothing() -> None:
    ended: list[str] = []

    async def run() -> None:
        async with Waiting(Client().receive) as waiting:
            asyncio.get_running_loop().call_later(0.01, waiting.give_up)
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("cancelled")
        assert waiting.is_given_up
        # The task goes on as if nobody had cancelled it.
        assert asyncio.current_task().cancelling() == 0  # type: ignore[union-attr]
        await check_nobody_listens()

    asyncio.run(run())
    assert ended == ["cancelled"]


def test_giving_up_what_has_ended_does_nothing() -> None:
    async def run() -> None:
        async with Waiting(Client().receive) as waiting:
            pass
        waiting.give_up()
        await asyncio.sleep(0)
        assert not waiting.is_given_up

    asyncio.run(run())


def test_cancelling_the_caller_too_is_not_lost() -> None:
    async def work() -> None:
        async with Waiting(Client().receive) as waiting:
            waiting.give_up()
            asyncio.current_task().cancel()  # type: ignore[union-attr]
            await asyncio.Event().wait()

    async def run() -> None:
        with pytest.raises(asyncio.CancelledError):
            await asyncio.ensure_future(work())

    asyncio.run(run())


async def check_nobody_listens() -> None:
    """Assert that the task that listened ends in this turn of the loop."""
    await asyncio.sleep(0)
    assert len(asyncio.all_tasks()) == 1
