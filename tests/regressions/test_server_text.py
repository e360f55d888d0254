"""Reports about the text of answers of other servers, asked of ours over a socket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.helpers.live_server import CHAT, LiveServer, events_of, live_server
from tests.helpers.scripted import scripted

FAMILY = "👩‍👧 und 家族"


@pytest.fixture(scope="module")
def server() -> Iterator[LiveServer]:
    """Serve for this module."""
    with live_server() as running:
        yield running
        running.wait_until_empty()


def _post(server: LiveServer, path: str = "/v1/completions", **body: Any) -> httpx.Response:
    return server.client.post(path, json=body)


def _pieces(server: LiveServer, **body: Any) -> list[str]:
    """Return the texts of the chunks of a stream."""
    *events, done = events_of(_post(server, prompt="a", stream=True, **body))
    assert done == "[DONE]"
    return [json.loads(event)["choices"][0]["text"] for event in events]


@pytest.mark.parametrize("is_chat", [False, True])
def test_no_stream_breaks_a_character(server: LiveServer, is_chat: bool) -> None:
    """vllm-mlx#109, exo#1691, mlx-vlm#1771: U+FFFD for each byte of an emoji."""
    with scripted(server, FAMILY):
        if is_chat:
            answer = _post(server, "/v1/chat/completions", messages=CHAT, stream=True)
            choices = [json.loads(event)["choices"][0] for event in events_of(answer)[:-1]]
            pieces = [choice["delta"].get("content", "") for choice in choices]
        else:
            pieces = _pieces(server, max_tokens=60)
    assert "".join(pieces) == FAMILY
    assert all("\ufffd" not in piece for piece in pieces)


def test_a_character_that_the_limit_breaks_off_is_told_once(server: LiveServer) -> None:
    """mlx-vlm#1771: the rest of a character at max_tokens."""
    with scripted(server, FAMILY):
        pieces = _pieces(server, max_tokens=6)
    assert "".join(pieces) == "👩\ufffd"


@pytest.mark.parametrize(
    ("text", "stop", "wanted"),
    [
        ("ABCDEFGHIX", "DEFGHIJ", "ABCDEFGHIX"),
        ("ABCDEFGHIJKL", "DEFGHIJ", "ABC"),
        ("DEFGHIJ", "DEFGHIJ", ""),
        ("xaab", ["aa", "aab"], "x"),
        ("xaab", ["b", "b", "b"], "xaa"),
        ("ab家c", "家", "ab"),
        ("abc", "cd", "abc"),
    ],
)
def test_nothing_of_a_stop_string_is_streamed(
    server: LiveServer, text: str, stop: Any, wanted: str
) -> None:
    """vllm#3574, #2577, #45636, #57052: a part of it came before the rest was known."""
    with scripted(server, text):
        pieces = _pieces(server, max_tokens=40, stop=stop)
    assert "".join(pieces) == wanted
    with scripted(server, text):
        whole = _post(server, prompt="a", max_tokens=40, stop=stop).json()["choices"][0]
    assert (whole["text"], whole["finish_reason"]) == (wanted, "stop")


def test_the_end_at_the_last_allowed_token_is_a_stop(server: LiveServer) -> None:
    """Counts alone would call it a length."""
    with scripted(server, "abc"):
        choice = _post(server, prompt="a", max_tokens=4).json()["choices"][0]
    assert (choice["text"], choice["finish_reason"]) == ("abc", "stop")


def test_echo_shows_the_prompt_once_for_each_choice(server: LiveServer) -> None:
    """vllm#6521, #2706, #2995, #2813, #15119: a crash, the prompt twice, or not at all."""
    body: dict[str, Any] = {"prompt": ["ab", "cd"], "n": 2, "echo": True, "max_tokens": 0}
    assert _texts(_post(server, **body)) == ["ab", "ab", "cd", "cd"]
    for is_stream in (False, True):
        answer = _post(server, **{**body, "max_tokens": 2, "seed": 3, "stream": is_stream})
        texts = _streamed(answer) if is_stream else _texts(answer)
        assert [text[:2] for text in texts] == ["ab", "ab", "cd", "cd"]
        assert all(text.count("ab") + text.count("cd") == 1 for text in texts)


def test_scored_prompts_are_finite_numbers(server: LiveServer) -> None:
    """vllm#10234, sglang#5984: "out of range float" for tokens that were ruled out."""
    answer = _post(server, prompt="abc", echo=True, logprobs=5, top_k=1, max_tokens=2)
    assert answer.status_code == 200

    def refuse(name: str) -> None:
        raise AssertionError(name)

    logprobs = json.loads(answer.text, parse_constant=refuse)["choices"][0]["logprobs"]
    assert logprobs["token_logprobs"][0] is None
    assert all(isinstance(value, float) for value in logprobs["token_logprobs"][1:])
    assert [len(each) for each in logprobs["top_logprobs"][1:4]] >= [5] * 3


def test_choices_differ_and_the_answer_repeats(server: LiveServer) -> None:
    """vllm#10852, #17929: all choices of a seed were the same."""
    body: dict[str, Any] = {"prompt": "a", "n": 3, "seed": 42, "temperature": 1, "max_tokens": 8}
    first, second = (_texts(_post(server, **body)) for _ in range(2))
    assert first == second
    assert len(set(first)) == 3


def test_the_reason_of_the_end_is_told_exactly_once(server: LiveServer) -> None:
    """sglang#4550, #2746: it was null for ever."""
    *events, _ = events_of(
        _post(server, "/v1/chat/completions", messages=CHAT, stream=True, n=2, max_tokens=3)
    )
    reasons = [json.loads(event)["choices"][0]["finish_reason"] for event in events]
    assert len([reason for reason in reasons if reason]) == 2


def test_an_answer_is_encoded_once(server: LiveServer) -> None:
    """transformers#45057: the body was JSON within JSON."""
    answer = _post(server, "/v1/chat/completions", messages=CHAT, max_tokens=1)
    assert isinstance(json.loads(answer.text), dict)


def _texts(answer: httpx.Response) -> list[str]:
    return [choice["text"] for choice in answer.json()["choices"]]


def _streamed(answer: httpx.Response) -> list[str]:
    texts = [""] * 4
    for event in events_of(answer)[:-1]:
        (choice,) = json.loads(event)["choices"]
        texts[choice["index"]] += choice["text"]
    return texts
