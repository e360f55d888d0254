"""vllm#46283, #50425, #29987, sglang#11970: blocks stayed held after a client had left."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from tests.helpers.asked import COMPLETIONS
from tests.helpers.held import held
from tests.helpers.live_server import LiveServer, live_server

LONG = {"prompt": "hello", "max_tokens": 80, "ignore_eos": True}


@pytest.fixture(scope="module")
def running() -> Iterator[LiveServer]:
    """Serve two sequences at a time, so that some requests wait."""
    with live_server(max_num_seqs=2) as started:
        yield started


@pytest.mark.parametrize("is_stream", [False, True])
def test_leaving_while_the_request_is_not_yet_taken(server: LiveServer, is_stream: bool) -> None:
    with held(server):
        with pytest.raises(httpx.TimeoutException):
            server.client.post(COMPLETIONS, json={**LONG, "stream": is_stream}, timeout=0.2)
        _wait_for(server, 0)
    server.check_given_up()


def test_leaving_in_the_midst_of_a_stream(server: LiveServer) -> None:
    with httpx.Client(base_url=server.url) as client, ExitStack() as hold:
        with client.stream("POST", COMPLETIONS, json={**LONG, "stream": True}) as answer:
            assert next(answer.iter_lines()).startswith("data: ")
            hold.enter_context(held(server))
        # The engine stands still: nothing but leaving can end it.
        _wait_for(server, 0)
    server.check_given_up()


@pytest.mark.parametrize("is_stream", [False, True])
def test_leaving_while_others_run(server: LiveServer, is_stream: bool) -> None:
    kept: list[httpx.Response] = []
    keeping = threading.Thread(
        target=lambda: kept.append(server.client.post(COMPLETIONS, json={**LONG, "seed": 1}))
    )
    keeping.start()
    with httpx.Client(base_url=server.url) as client, pytest.raises(httpx.TimeoutException):
        client.post(COMPLETIONS, json={**LONG, "n": 2, "stream": is_stream}, timeout=0.02)
    keeping.join()
    assert kept[0].json()["usage"]["completion_tokens"] == 80
    server.wait_until_empty(timeout_s=5)


def _wait_for(server: LiveServer, num_open: int) -> None:
    for _ in range(500):
        if server.service.num_open_requests == num_open:
            return
        time.sleep(0.01)
    raise AssertionError(f"{server.service.num_open_requests} requests are open")
