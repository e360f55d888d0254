"""Whatever a body holds, the answer is one of the contract and the server lives on."""

from __future__ import annotations

import json
from typing import Any

import httpx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paged.server.protocol.chat import ChatRequest
from paged.server.protocol.completion import CompletionRequest
from tests.helpers.live_server import CHAT, LiveServer

NUMBERS = st.integers() | st.floats() | st.sampled_from([0, 1, -1, 2**31, 2**63, 10**30, 0.5, 2.0])
TEXTS = st.text(max_size=5) | st.sampled_from(["", "a", "\0", "\ufeff", "家", "\U0001f469"])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


def _bodies(fields: list[str], plain: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return valid bodies with some fields set to anything."""
    changes = st.dictionaries(st.sampled_from(fields), VALUES, max_size=3)
    return changes.map(lambda each: {**plain, **each})


BODIES = st.one_of(
    st.tuples(
        st.just("/v1/completions"),
        _bodies(list(CompletionRequest.model_fields), {"prompt": "a", "max_tokens": 2}),
    ),
    st.tuples(
        st.just("/v1/chat/completions"),
        _bodies(list(ChatRequest.model_fields), {"messages": CHAT, "max_tokens": 2}),
    ),
    st.tuples(st.sampled_from(["/tokenize", "/detokenize", "/v1/completions"]), VALUES),
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(call=BODIES)
def test_no_body_is_an_error_of_the_server(server: LiveServer, call: tuple[str, Any]) -> None:
    path, body = call
    headers = {"content-type": "application/json"}
    answer = server.client.post(path, content=json.dumps(body), headers=headers)
    assert answer.status_code in {200, 400, 404}, (body, answer.text)
    if answer.status_code != 200:
        assert set(answer.json()["error"]) == {"message", "type", "param", "code"}
    elif "text/event-stream" in answer.headers["content-type"]:
        assert answer.text.endswith("data: [DONE]\n\n")
        assert '"error"' not in answer.text


def test_the_server_is_empty_afterwards(server: LiveServer, client: httpx.Client) -> None:
    assert client.get("/health").status_code == 200
    server.wait_until_empty()
