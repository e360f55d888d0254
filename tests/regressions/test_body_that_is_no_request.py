"""More inputs of the contract: bodies, models, content types and keys that are none."""

from __future__ import annotations

from contextlib import closing
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from tests.helpers.asked import CHATS, COMPLETIONS, refused
from tests.helpers.live_server import LiveServer, live_server


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'"a"', b"null", b"\xff", b"{'a': 1}", b"1" * 9999]
)
def test_a_body_that_is_no_object(server: LiveServer, body: bytes) -> None:
    for path in (COMPLETIONS, CHATS, "/tokenize", "/detokenize"):
        refused(server, path, body)


def test_nesting_that_is_too_deep(server: LiveServer) -> None:
    refused(server, COMPLETIONS, b'{"prompt": ' + b"[" * 100_000)


def test_an_unknown_model_and_another_content_type(server: LiveServer) -> None:
    error = refused(server, COMPLETIONS, {"prompt": "a", "model": "x"}, status=404)
    assert error["message"] == "The model `x` does not exist."
    answer = server.client.post(COMPLETIONS, content=b'{"prompt": "a"}')
    assert answer.status_code == 400
    assert server.client.get(COMPLETIONS).status_code == 405


def test_fifty_megabytes(server: LiveServer) -> None:
    error = refused(server, COMPLETIONS, b'{"prompt": "%s"}' % (b"a" * 50_000_000), status=413)
    assert error["message"] == "expected a body of at most 8388608 bytes"


def test_a_key_that_is_missing_or_of_another_form() -> None:
    with live_server(api_keys=("one",)) as server:
        for header in ({}, {"authorization": "one"}, {"authorization": "Basic one"}):
            answer = server.client.get("/v1/models", headers=header)
            assert answer.status_code == 401
        # HTTP itself drops spaces at the end of a header, which httpx does not send.
        address = urlsplit(server.url)
        connection = HTTPConnection(address.hostname or "", address.port)
        with closing(connection):
            connection.request("GET", "/v1/models", headers={"authorization": "Bearer one "})
            assert connection.getresponse().status == 200
