"""transformers#45057: the body of an answer was JSON within JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.helpers.asked import CHATS, COMPLETIONS, post
from tests.helpers.live_server import CHAT, LiveServer


@pytest.mark.parametrize(
    ("path", "body"), [(CHATS, {"messages": CHAT}), (COMPLETIONS, {"prompt": "a"})]
)
def test_the_first_parse_gives_an_object(
    server: LiveServer, path: str, body: dict[str, Any]
) -> None:
    answer = post(server, path, {**body, "max_tokens": 1})
    assert answer.headers["content-type"] == "application/json"
    assert isinstance(json.loads(answer.text), dict)
