"""What the endpoints that generate have in common."""

from __future__ import annotations

import httpx
import pytest

from tests.helpers.live_server import CHAT

BODIES = {
    "/v1/completions": {"prompt": "a", "max_tokens": 2},
    "/v1/chat/completions": {"messages": CHAT, "max_tokens": 2},
}


@pytest.mark.parametrize("path", list(BODIES))
def test_the_model_may_be_left_out_but_not_be_another(client: httpx.Client, path: str) -> None:
    for name in ({}, {"model": None}, {"model": "tiny"}):
        assert client.post(path, json={**BODIES[path], **name}).status_code == 200
    for name in ("", "Tiny", "tiny ", "gpt-4"):
        answer = client.post(path, json={**BODIES[path], "model": name})
        assert answer.status_code == 404
        error = answer.json()["error"]
        assert (error["type"], error["param"]) == ("NotFoundError", "model")
        assert error["message"] == f"The model `{name}` does not exist."


@pytest.mark.parametrize("path", list(BODIES))
def test_a_refusal_comes_before_a_stream_begins(client: httpx.Client, path: str) -> None:
    answer = client.post(path, json={**BODIES[path], "stream": True, "n": 1000})
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/json"
