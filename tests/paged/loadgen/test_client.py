"""One request: what is sent, the times of what comes, and every way it can fail."""

from __future__ import annotations

import asyncio
import dataclasses
from contextlib import closing, suppress
from time import perf_counter
from typing import Any

import pytest

from paged.loadgen.client import Client, Target
from paged.loadgen.job import Job
from paged.loadgen.record import Record
from tests.helpers.fake_server import FakeServer, Script, fake_server

JOB = Job(index=5, prompt="the of", num_output_tokens=9, due_s=0.25)
CHUNK = 'data: {"choices": [{"text": "a"}]}'


def _send(server: FakeServer, job: Job = JOB, **options: Any) -> Record:
    target = Target(url=server.url, model="fake", **options)

    async def send() -> Record:
        async with target.session() as session:
            return await Client(session, target, start_s=perf_counter()).send(job)

    return asyncio.run(send())


def test_a_completion_is_asked_for_as_a_stream_with_usage() -> None:
    with fake_server(Script()) as server:
        record = _send(server, api_key="k", extra={"ignore_eos": True, "temperature": 1.0})
    assert server.paths == ["/v1/completions"]
    assert "authorization: bearer k" in server.headers[0].lower()
    assert server.bodies == [
        {
            "model": "fake",
            "prompt": "the of",
            "max_tokens": 9,
            "temperature": 1.0,
            "stream": True,
            "stream_options": {"include_usage": True},
            "ignore_eos": True,
        }
    ]
    assert (record.index, record.due_s, record.error) == (5, 0.25, None)
    assert (record.num_prompt_tokens, record.num_output_tokens) == (7, 3)


def test_a_chat_is_one_message_and_its_role_is_no_text() -> None:
    with fake_server(Script(first_s=0.2)) as server:
        record = _send(server, endpoint="chat")
    assert server.paths == ["/v1/chat/completions"]
    assert server.bodies[0]["messages"] == [{"role": "user", "content": "the of"}]
    assert record.error is None
    assert record.first_s is not None
    assert record.first_s - record.sent_s >= 0.2


def test_token_ids_go_as_they_are() -> None:
    with fake_server(Script()) as server:
        _send(server, dataclasses.replace(JOB, prompt=[3, 1, 2]))
    assert server.bodies[0]["prompt"] == [3, 1, 2]


def test_times_are_those_of_the_pieces() -> None:
    with fake_server(Script(first_s=0.15, gap_s=0.05, num_pieces=4)) as server:
        record = _send(server)
    assert record.first_s is not None
    assert 0.15 <= record.first_s - record.sent_s < 60.0
    assert len(record.gaps_s) == 3
    # A piece that came late shortens the gap behind it, and no more than that.
    assert 0.14 <= sum(record.gaps_s) < 60.0
    assert record.end_s - record.first_s >= 0.14


def test_without_usage_pieces_are_counted() -> None:
    with fake_server(Script(usage=False, num_pieces=5)) as server:
        record = _send(server)
    assert (record.num_prompt_tokens, record.num_output_tokens) == (None, 5)


@pytest.mark.parametrize("url", ["{}/", "{}/v1", "{}/v1/"])
def test_a_url_may_have_its_version(url: str) -> None:
    assert Target(url=url.format("http://h:1"), model="m").base_url == "http://h:1/v1/"


@pytest.mark.parametrize(
    ("script", "error"),
    [
        (Script(status=429, body='{"error": {"message": "full"}}'), "HTTP 429: full"),
        (Script(status=401, body='{"error": "Unauthorized"}'), "HTTP 401: Unauthorized"),
        (Script(status=400, body='{"object": "error", "message": "no"}'), "HTTP 400: no"),
        (Script(status=502, body="<html>"), "HTTP 502: <html>"),
        (Script(is_done=False), "the stream ended without [DONE]"),
        (Script(num_pieces=0), "the stream had no text"),
        (Script(lines=(CHUNK, "data: {")), "expected a JSON object, got ' {'"),
        (Script(lines=(CHUNK, "data: []")), "expected a JSON object, got ' []'"),
        (Script(lines=('data: {"error": {"message": "died"}}', "data: [DONE]")), "died"),
        (Script(lines=()), "the stream ended without [DONE]"),
    ],
    ids=str,
)
def test_every_failure_is_told_and_none_is_raised(script: Script, error: str) -> None:
    with fake_server(script) as server:
        assert _send(server).error == error


def test_what_is_no_data_is_passed_over() -> None:
    lines = (": a comment", "event: x", CHUNK, CHUNK, "data:[DONE]")
    with fake_server(Script(lines=lines)) as server:
        record = _send(server)
    assert (record.error, record.num_output_tokens) == (None, 2)


def test_a_request_that_takes_too_long_is_given_up() -> None:
    with fake_server(Script(gap_s=30.0)) as server:
        record = _send(server, timeout_s=1.5)
    assert record.error == "no end within 1.5 s"
    assert (record.num_output_tokens, record.first_s is None) == (1, False)


def test_a_server_that_is_not_there_is_an_error_of_the_request() -> None:
    with fake_server(Script()) as server:
        pass
    error = _send(server).error
    assert error is not None
    assert error.startswith("ConnectError: ")


@pytest.mark.parametrize(("keeps_connections", "num_connections"), [(True, 1), (False, 3)])
def test_connections_are_kept_or_not(keeps_connections: bool, num_connections: int) -> None:
    met = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal met
        met += 1
        with suppress(asyncio.IncompleteReadError), closing(writer):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                lines = head.lower().split(b"\r\n")
                length = next(line for line in lines if b"content-length" in line)
                await reader.readexactly(int(length.partition(b":")[2]))
                text = f"{CHUNK}\n\ndata: [DONE]\n\n"
                answered = f"HTTP/1.1 200 OK\r\ncontent-length: {len(text)}\r\n\r\n{text}"
                writer.write(answered.encode())

    async def send_three() -> list[Record]:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        target = Target(url=url, model="fake", keeps_connections=keeps_connections)
        async with server, target.session() as session:
            client = Client(session, target, start_s=perf_counter())
            return [await client.send(JOB) for _ in range(3)]

    assert [record.error for record in asyncio.run(send_three())] == [None] * 3
    assert met == num_connections
