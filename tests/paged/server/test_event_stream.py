"""A stream of events as ASGI messages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from paged.errors import RequestRefused
from paged.server.event_stream import EventStream


class Block:
    """Stands for a submission: knows whether its block was left."""

    def __init__(self) -> None:
        self.is_left = False

    async def __aenter__(self) -> Block:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.is_left = True


async def _events() -> AsyncGenerator[bytes, None]:
    yield b"data: 1\n\n"
    yield b"data: 2\n\n"


async def _never() -> dict[str, Any]:
    await asyncio.Event().wait()
    raise AssertionError


async def _gone() -> dict[str, Any]:
    return {"type": "http.disconnect"}


def _run(send: Any, receive: Any = _never) -> Block:
    block = Block()

    async def submit() -> Any:
        return block

    async def run() -> None:
        stream = EventStream(submit, lambda _: _events())
        await stream.run(receive, send)
        # Nothing of it is left behind but the listener, which ends in the next turn.
        await asyncio.sleep(0)
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(run())
    return block


def test_events_follow_their_head_one_by_one() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    assert _run(send).is_left
    head, *bodies = sent
    headers = dict(head["headers"])
    assert head["status"] == 200
    assert headers[b"content-type"].startswith(b"text/event-stream")
    assert headers[b"cache-control"] == b"no-cache"
    assert b"content-length" not in headers
    assert [(body["body"], body["more_body"]) for body in bodies] == [
        *((b"data: 1\n\n", True), (b"data: 2\n\n", True)),
        (b"", False),
    ]


def test_a_reader_that_leaves_ends_it() -> None:
    async def send(message: Any) -> None:
        await asyncio.sleep(0.01)

    assert _run(send, _gone).is_left


def test_what_the_engine_refuses_is_raised_before_anything_is_sent() -> None:
    async def submit() -> Any:
        raise RequestRefused("no")

    async def send(message: Any) -> None:
        raise AssertionError(message)

    stream = EventStream(submit, lambda _: _events())
    with pytest.raises(RequestRefused, match="no"):
        asyncio.run(stream.run(_never, send))


def test_a_reader_that_leaves_before_the_engine_has_answered_gets_nothing() -> None:
    ended: list[str] = []

    async def submit() -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("given up")

    async def send(message: Any) -> None:
        raise AssertionError(message)

    stream = EventStream(submit, lambda _: _events())
    asyncio.run(stream.run(_gone, send))
    assert ended == ["given up"]


def test_what_the_engine_refuses_is_the_answer() -> None:
    sent: list[Any] = []

    async def submit() -> Any:
        raise RequestRefused("no")

    async def send(message: Any) -> None:
        sent.append(message)

    stream = EventStream(submit, lambda _: _events())
    asyncio.run(stream({"type": "http", "headers": []}, _never, send))
    head, body = sent
    assert head["status"] == 400
    assert b"no" in body["body"]
