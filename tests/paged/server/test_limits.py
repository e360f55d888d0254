"""Bounds on what a client sends."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest

from paged.server.limits import Limits
from tests.helpers.live_server import LiveServer, live_server

LIMITS = Limits(
    max_body_bytes=2000,
    max_header_bytes=3000,
    max_open_requests=3,
    max_sequences=6,
    body_timeout_s=0.3,
    keep_alive_s=1,
)


@pytest.fixture(scope="module")
def server() -> Iterator[LiveServer]:
    """Serve within narrow bounds."""
    with live_server(limits=LIMITS) as running:
        yield running
        running.wait_until_empty()


def _post(server: LiveServer, body: object) -> httpx.Response:
    return server.client.post("/v1/completions", json=body)


@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_body_that_is_too_large_is_not_read(server: LiveServer, is_chunked: bool) -> None:
    data = b'{"prompt": "' + b"a" * 5000 + b'"}'
    answer = server.client.post(
        "/v1/completions",
        content=iter([data]) if is_chunked else data,
        headers={"content-type": "application/json"},
    )
    assert answer.status_code == 413
    assert answer.json()["error"]["message"] == "expected a body of at most 2000 bytes"


def test_headers_that_are_too_large_are_refused(server: LiveServer) -> None:
    few = server.client.get("/v1/models", headers={"x": "y" * 2000})
    assert few.status_code == 200
    many = server.client.get("/v1/models", headers={"x": "y" * 2990})
    assert many.status_code in {400, 431}
    assert server.client.get(f"/v1/models?{'q' * 2900}").status_code in {400, 431}


def test_a_body_that_does_not_come_is_408(server: LiveServer) -> None:
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=30)
    with closing(connection):
        connection.putrequest("POST", "/v1/completions")
        connection.putheader("content-length", "100")
        connection.endheaders(b'{"prompt"')
        answer = connection.getresponse()
        assert answer.status == 408
        assert json.loads(answer.read())["error"]["type"] == "RequestTimeoutError"


@pytest.mark.parametrize("start", [b"", b"GET /health HTTP/1.1\r\nx: "])
def test_a_connection_without_a_whole_request_is_closed(server: LiveServer, start: bytes) -> None:
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(start)
        assert connection.recv(1) == b""


def test_a_connection_that_is_used_stays_open(server: LiveServer) -> None:
    with httpx.Client(base_url=server.url) as client:
        streams = set()
        for _ in range(6):
            answer = client.get("/health")
            assert answer.status_code == 200
            streams.add(id(answer.extensions["network_stream"]))
            time.sleep(0.4)
    assert len(streams) == 1


def test_a_full_queue_is_429_with_a_time_to_wait(server: LiveServer) -> None:
    held, free = threading.Event(), threading.Event()
    holding = threading.Thread(target=server.ask, args=(lambda _: (held.set(), free.wait(30)),))
    holding.start()
    held.wait(30)
    answers: list[httpx.Response] = []
    body = {"prompt": ["a", "b"], "max_tokens": 2}
    waiting = threading.Thread(target=lambda: answers.append(_post(server, body)))
    waiting.start()
    while server.service.num_open_requests < 2:
        time.sleep(0.01)
    full = _post(server, body)
    free.set()
    waiting.join()
    holding.join()
    assert full.status_code == 429
    assert full.headers["retry-after"] == "1"
    assert full.json()["error"]["type"] == "RateLimitError"
    assert answers[0].status_code == 200


def test_prompts_times_n_are_bounded(server: LiveServer) -> None:
    answer = _post(server, {"prompt": ["a", "b"], "n": 4})
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "n"
    assert _post(server, {"prompt": ["a", "b"], "n": 3, "max_tokens": 1}).status_code == 200
