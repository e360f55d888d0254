"""vllm#6521, #2706, #2995, #2813, #15119: echo crashed, or gave the prompt twice or not at all."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.helpers.asked import COMPLETIONS, post, texts
from tests.helpers.live_server import LiveServer, events_of

BODY: dict[str, Any] = {"prompt": ["ab", "cd"], "n": 2, "echo": True}


def test_the_prompts_alone(server: LiveServer) -> None:
    assert texts(post(server, COMPLETIONS, {**BODY, "max_tokens": 0})) == ["ab", "ab", "cd", "cd"]


@pytest.mark.parametrize("is_stream", [False, True])
def test_the_prompts_and_what_follows(server: LiveServer, is_stream: bool) -> None:
    body = {**BODY, "max_tokens": 2, "seed": 3, "stream": is_stream}
    answer = post(server, COMPLETIONS, body)
    found = _streamed(answer) if is_stream else texts(answer)
    assert [text[:2] for text in found] == ["ab", "ab", "cd", "cd"]
    assert all(text.count("ab") + text.count("cd") == 1 for text in found)


def _streamed(answer: httpx.Response) -> list[str]:
    joined = [""] * 4
    for event in events_of(answer)[:-1]:
        (choice,) = json.loads(event)["choices"]
        joined[choice["index"]] += choice["text"]
    return joined
