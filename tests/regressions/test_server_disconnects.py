"""Clients that leave: everything of theirs is given back, and others are served.

lmdeploy#1788, #548, #1619: the engine stalled after bursts of closed streams.
vllm#46283, #50425, #29987, sglang#11970: blocks stayed held after an abort.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import httpx
import pytest

from tests.helpers.live_server import LiveServer, live_server

PATH = "/v1/completions"
LONG = {"prompt": "hello", "max_tokens": 80, "ignore_eos": True}


@pytest.fixture(scope="module")
def server() -> Iterator[LiveServer]:
    """Serve two sequences at a time, so that most requests wait."""
    with live_server(max_num_seqs=2) as running:
        yield running


async def _leave(client: httpx.AsyncClient, place: int) -> None:
    """Begin a request, and leave before its answer, at its head or in its midst."""
    body = {**LONG, "seed": place, "stream": place % 3 > 0, "n": 1 + place % 2}
    try:
        async with client.stream("POST", PATH, json=body, timeout=0.05 + place % 5 / 10) as answer:
            async for _ in answer.aiter_bytes():
                if place % 3 == 1:
                    break
    except httpx.TimeoutException:
        pass


def test_two_hundred_streams_that_are_given_up(server: LiveServer) -> None:
    async def all_of_them() -> None:
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(base_url=server.url, limits=limits) as client:
            await asyncio.gather(*(_leave(client, place) for place in range(200)))

    asyncio.run(all_of_them())
    answer = server.client.post(PATH, json={"prompt": "a", "max_tokens": 2}, timeout=5)
    assert answer.status_code == 200
    server.wait_until_empty(timeout_s=5)


@contextmanager
def _held(server: LiveServer) -> Iterator[None]:
    """Let the engine do nothing inside the block."""
    held, free = threading.Event(), threading.Event()
    holding = threading.Thread(target=server.ask, args=(lambda _: (held.set(), free.wait(30)),))
    holding.start()
    held.wait(30)
    try:
        yield
    finally:
        free.set()
        holding.join()


@pytest.mark.parametrize("is_stream", [False, True])
def test_leaving_while_the_request_is_not_yet_taken(server: LiveServer, is_stream: bool) -> None:
    with _held(server):
        with pytest.raises(httpx.TimeoutException):
            server.client.post(PATH, json={**LONG, "stream": is_stream}, timeout=0.2)
        _wait_for(server, 0)
    _check_given_up(server)


def test_leaving_in_the_midst_of_a_stream(server: LiveServer) -> None:
    with httpx.Client(base_url=server.url) as client, ExitStack() as hold:
        with client.stream("POST", PATH, json={**LONG, "stream": True}) as answer:
            assert next(answer.iter_lines()).startswith("data: ")
            hold.enter_context(_held(server))
        # The engine stands still: nothing but leaving can end it.
        _wait_for(server, 0)
    _check_given_up(server)


@pytest.mark.parametrize("is_stream", [False, True])
def test_leaving_while_others_run(server: LiveServer, is_stream: bool) -> None:
    kept: list[httpx.Response] = []
    keeping = threading.Thread(
        target=lambda: kept.append(server.client.post(PATH, json={**LONG, "seed": 1}))
    )
    keeping.start()
    with httpx.Client(base_url=server.url) as client, pytest.raises(httpx.TimeoutException):
        client.post(PATH, json={**LONG, "n": 2, "stream": is_stream}, timeout=0.02)
    keeping.join()
    assert kept[0].json()["usage"]["completion_tokens"] == 80
    server.wait_until_empty(timeout_s=5)


def _check_given_up(server: LiveServer) -> None:
    """Check that the engine is done at once, many steps before what it served is whole."""
    assert not all(server.ask(lambda frontend: frontend.has_work) for _ in range(5))
    server.wait_until_empty(timeout_s=5)


def _wait_for(server: LiveServer, num_open: int) -> None:
    for _ in range(500):
        if server.service.num_open_requests == num_open:
            return
        time.sleep(0.01)
    raise AssertionError(f"{server.service.num_open_requests} requests are open")
