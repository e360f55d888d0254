"""Connections on a real socket: heads without an end, fields after a body, requests in a row."""

from __future__ import annotations

import socket
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager

import pytest

from paged.server.connection import REFUSAL, Connection
from paged.server.limits import Limits
from tests.helpers.held import held
from tests.helpers.live_server import LiveServer, live_server

MOST_BYTES = 3000


@pytest.fixture(scope="module")
def narrow() -> Iterator[LiveServer]:
    """Serve within narrow bounds."""
    with live_server(limits=Limits(max_header_bytes=MOST_BYTES), api_keys=("k",)) as running:
        yield running


@contextmanager
def _connected(server: LiveServer) -> Iterator[socket.socket]:
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        yield connection


def _all(connection: socket.socket) -> bytes:
    """Read until the server closes."""
    parts: list[bytes] = []
    try:
        while part := connection.recv(1 << 16):
            parts.append(part)
    except ConnectionResetError:
        pass  # It closed with bytes unread.
    return b"".join(parts)


@pytest.mark.parametrize("start", [b"GET /health HTTP/1.1\r\nx: ", b"GET /", b"POST /v1/models?"])
def test_a_head_without_an_end_is_refused(narrow: LiveServer, start: bytes) -> None:
    with _connected(narrow) as connection:
        connection.sendall(start)
        try:
            for _ in range(200):
                connection.sendall(b"y" * 1000)
        except (BrokenPipeError, ConnectionResetError):
            return
        assert REFUSAL.encode() in _all(connection)


def test_fields_after_a_body_are_refused_where_they_have_no_end(narrow: LiveServer) -> None:
    head = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    with _connected(narrow) as connection:
        connection.sendall(head + b"2\r\n{}\r\n0\r\n")
        try:
            for _ in range(200):
                connection.sendall(b"x: " + b"y" * 1000 + b"\r\n")
        except (BrokenPipeError, ConnectionResetError):
            return
        assert b"200 OK" not in _all(connection)


def test_fields_after_a_body_are_no_headers(narrow: LiveServer) -> None:
    request = (
        b"POST /tokenize HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
        b"Content-Type: application/json\r\nConnection: close\r\n\r\n"
        b'f\r\n{"prompt": "a"}\r\n0\r\nAuthorization: Bearer k\r\n\r\n'
    )
    with _connected(narrow) as connection:
        connection.sendall(request)
        assert _all(connection).startswith(b"HTTP/1.1 401")


def test_a_body_may_be_larger_than_a_head(narrow: LiveServer) -> None:
    answer = narrow.client.post(
        "/tokenize", json={"prompt": "a" * 3 * MOST_BYTES}, headers={"Authorization": "Bearer k"}
    )
    assert answer.status_code == 200


def test_requests_in_a_row_are_answered_in_order(narrow: LiveServer) -> None:
    first = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
    last = (
        b"GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer k\r\n\r\n"
    )
    with _connected(narrow) as connection:
        connection.sendall(first + last)
        answers = _all(connection)
    assert answers.startswith(b"HTTP/1.1 200")
    assert b"HTTP/1.1 404" in answers


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET / HTTP/9\r\n\r\n",
        b"\x00\x01\x02\r\n\r\n",
        b"POST /tokenize HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        b"POST /tokenize HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST /tokenize HTTP/1.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
        b"GET /\xff HTTP/1.1\r\n\r\n",
    ],
)
def test_what_is_no_http_is_400_and_the_server_lives(
    narrow: LiveServer, request_bytes: bytes
) -> None:
    with _connected(narrow) as connection:
        connection.sendall(request_bytes)
        assert _all(connection).startswith(b"HTTP/1.1 400")
    assert narrow.client.get("/health").status_code == 200


def test_a_length_may_begin_with_zeros(server: LiveServer) -> None:
    length = b"Content-Length: " + b"0" * 5000 + b"15\r\nConnection: close\r\n"
    with _connected(server) as connection:
        connection.sendall(_posted(b"/tokenize", b'{"prompt": "a"}', length))
        assert _all(connection).startswith(b"HTTP/1.1 200")


def _posted(path: bytes, body: bytes, fields: bytes = b"") -> bytes:
    """Return a request; its length unless the fields have it."""
    if b"Content-Length" not in fields:
        fields += b"Content-Length: %d\r\n" % len(body)
    head = b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" % path
    return head + fields + b"\r\n" + body


LONG = _posted(b"/v1/completions", b'{"prompt": "hello", "max_tokens": 80, "ignore_eos": true}')
HEALTH = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize("behind", [HEALTH, LONG * 50])
def test_a_client_that_leaves_while_requests_wait_ends_the_one_that_runs(
    server: LiveServer, behind: bytes
) -> None:
    with held(server):
        with _connected(server) as connection:
            connection.sendall(LONG)
            _wait_until(lambda: server.service.num_open_requests == 1)
            connection.sendall(behind)
            connections = server.runner.server_state.connections
            _wait_until(lambda: any(isinstance(c, Connection) and c.pipeline for c in connections))
        # The engine stands still: nothing but leaving can end it.
        _wait_until(lambda: server.service.num_open_requests == 0)
    server.wait_until_empty()


def test_nothing_is_said_in_the_midst_of_an_answer(server: LiveServer) -> None:
    for nonsense in (b"\0\r\n\r\n", HEALTH + b"GET /\0"):
        with held(server), _connected(server) as connection:
            connection.sendall(LONG)
            _wait_until(lambda: server.service.num_open_requests == 1)
            connection.sendall(nonsense)
            assert _all(connection) == b""
    server.wait_until_empty()


def test_what_waits_behind_a_request_is_bounded(server: LiveServer) -> None:
    with held(server), _connected(server) as connection:
        connection.sendall(LONG + HEALTH)
        _wait_until(lambda: server.service.num_open_requests == 1)
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            connection.sendall(HEALTH * 1_000_000)
        _wait_until(lambda: server.service.num_open_requests == 0)
    server.wait_until_empty()


def test_who_asks_for_another_protocol_gets_this_one(server: LiveServer) -> None:
    upgrade = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAA\r\n"
    asked = _posted(b"/tokenize", b'{"prompt": "a"}', upgrade)
    last = HEALTH.replace(b"Host", b"Connection: close\r\nHost")
    with _connected(server) as connection:
        connection.sendall(asked * 3 + last)
        answers = _all(connection)
    assert answers.count(b"HTTP/1.1 200") == 4
    assert answers.count(b'"count":2') == 3


STREAM = _posted(b"/v1/completions", b'{"prompt": "a", "max_tokens": 3, "stream": true}')


@pytest.mark.parametrize("asked", [STREAM, HEALTH, HEALTH.replace(b"GET", b"HEAD")])
def test_http_1_0_gets_no_chunks(server: LiveServer, asked: bytes) -> None:
    with _connected(server) as connection:
        connection.sendall(asked.replace(b"HTTP/1.1", b"HTTP/1.0"))
        head, _, body = _all(connection).lower().partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in head
    assert b"connection: close" in head
    if asked is STREAM:
        assert body.startswith(b"data: {")
        assert body.endswith(b"data: [done]\n\n")
        assert body.count(b"\n\n") == body.count(b"data: ")


def test_a_stream_that_nobody_reads_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paged.server.connection.NUM_STALLED", 1)
    event = b"data: " + b"x" * 500_000 + b"\n\n"

    async def events(*_operands: object) -> AsyncGenerator[bytes, None]:
        for _ in range(100):
            yield event

    monkeypatch.setattr("paged.server.answers.answer.Answer.events", events)
    with live_server(limits=Limits(keep_alive_s=1)) as running, _connected(running) as connection:
        connection.sendall(STREAM)
        _wait_until(lambda: len(running.runner.server_state.connections) == 1)
        _wait_until(lambda: not running.runner.server_state.connections)
        running.wait_until_empty()


@pytest.mark.parametrize("fields", [b"", b"Connection: close\r\n"])
def test_who_takes_nothing_of_an_answer_is_cut_off(
    monkeypatch: pytest.MonkeyPatch, fields: bytes
) -> None:
    monkeypatch.setattr("paged.server.connection.NUM_STALLED", 1)
    body = b'{"prompt": "%b"}' % (b"a" * 7_000_000)
    with live_server(limits=Limits(keep_alive_s=1)) as running, _connected(running) as connection:
        connection.sendall(_posted(b"/tokenize", body, fields))
        _wait_until(lambda: len(running.runner.server_state.connections) == 1)
        _wait_until(lambda: not running.runner.server_state.connections)


def _wait_until(is_so: Callable[[], bool]) -> None:
    for _ in range(2000):
        if is_so():
            return
        time.sleep(0.01)
    raise AssertionError("it has not come to that")
