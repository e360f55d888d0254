"""Questions to a live server as odd clients put them, and what a refusal must look like."""

from __future__ import annotations

import json
from typing import Any

import httpx

from tests.helpers.live_server import LiveServer, events_of

COMPLETIONS, CHATS = "/v1/completions", "/v1/chat/completions"


def post(server: LiveServer, path: str, body: Any) -> httpx.Response:
    """Post JSON that Python writes, with what no JSON should have in it; bytes as they are."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"content-type": "application/json"}
    return server.client.post(path, content=content, headers=headers)


def refused(server: LiveServer, path: str, body: Any, status: int = 400) -> dict[str, Any]:
    """Post what must be refused; return the error, which has OpenAI's form."""
    answer = post(server, path, body)
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["code"] == status
    assert "Traceback" not in answer.text
    return error


def completed(server: LiveServer, **body: Any) -> dict[str, Any]:
    """Return the one choice of a completion of the prompt `a`."""
    (choice,) = post(server, COMPLETIONS, {"prompt": "a", **body}).json()["choices"]
    return choice


def pieces(server: LiveServer, **body: Any) -> list[str]:
    """Return the texts of the chunks of such a completion, streamed."""
    answer = post(server, COMPLETIONS, {"prompt": "a", "stream": True, **body})
    *events, done = events_of(answer)
    assert done == "[DONE]"
    return [json.loads(event)["choices"][0]["text"] for event in events]


def texts(answer: httpx.Response) -> list[str]:
    """Return the texts of the choices of a whole answer."""
    return [choice["text"] for choice in answer.json()["choices"]]
