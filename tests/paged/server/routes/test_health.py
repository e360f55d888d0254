"""Health, version and load; a dead engine's health is tested where it is revived."""

from __future__ import annotations

import threading
from importlib.metadata import version

import httpx

from tests.helpers.live_server import LiveServer


def test_a_server_that_serves_is_healthy(client: httpx.Client) -> None:
    answer = client.get("/health")
    assert (answer.status_code, answer.content) == (200, b"")
    assert client.get("/version").json() == {"version": version("paged")}


def test_the_load_counts_prompts(server: LiveServer, client: httpx.Client) -> None:
    assert client.get("/load").json() == {"server_load": 0}
    held, free = threading.Event(), threading.Event()
    holding = threading.Thread(target=server.ask, args=(lambda _: (held.set(), free.wait(30)),))
    holding.start()
    held.wait(30)
    body = {"prompt": ["a", "b"], "max_tokens": 2}
    asking = threading.Thread(target=client.post, args=("/v1/completions",), kwargs={"json": body})
    asking.start()
    while client.get("/load").json() != {"server_load": 2}:
        assert asking.is_alive()
    free.set()
    asking.join()
    holding.join()
    assert client.get("/load").json() == {"server_load": 0}
