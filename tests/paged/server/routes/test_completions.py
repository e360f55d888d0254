"""`/v1/completions` over a real socket: the same output as the library, whole and streamed."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from paged.sampling_params import BeamParams, SamplingParams
from tests.helpers.live_server import events_of
from tests.helpers.tiny_llm import tiny_llm

PATH = "/v1/completions"
GREEDY = {"temperature": 0, "max_tokens": 6, "ignore_eos": True}


def _post(client: httpx.Client, **body: Any) -> Any:
    response = client.post(PATH, json=body)
    assert response.status_code == 200, response.text
    return response.json()


def _chunks(client: httpx.Client, **body: Any) -> list[Any]:
    response = client.post(PATH, json={**body, "stream": True})
    assert response.headers["content-type"].startswith("text/event-stream")
    *events, done = events_of(response)
    assert done == "[DONE]"
    return [json.loads(event) for event in events]


def _texts(chunks: list[Any]) -> dict[int, str]:
    """Join the texts of a stream by choice."""
    texts: dict[int, str] = {}
    for choice in (choice for chunk in chunks for choice in chunk["choices"]):
        texts[choice["index"]] = texts.get(choice["index"], "") + choice["text"]
    return texts


def _library(prompt: str, **params: Any) -> list[str]:
    (output,) = tiny_llm().generate(prompt, SamplingParams(**params))
    return [sequence.text for sequence in output.outputs]


def test_an_answer_has_openais_form_and_the_librarys_text(client: httpx.Client) -> None:
    answer = _post(client, model="tiny", prompt="hello", **GREEDY)
    assert answer["id"].startswith("cmpl-")
    assert (answer["object"], answer["model"]) == ("text_completion", "tiny")
    assert isinstance(answer["created"], int)
    (choice,) = answer["choices"]
    assert [choice["text"]] == _library("hello", **GREEDY)
    assert (choice["index"], choice["finish_reason"]) == (0, "length")
    assert (choice["logprobs"], choice["stop_reason"]) == (None, None)
    usage = answer["usage"]
    cached = usage.pop("prompt_tokens_details")["cached_tokens"]
    assert 0 <= cached < 6
    assert usage == {"prompt_tokens": 6, "completion_tokens": 6, "total_tokens": 12}


def test_sixteen_tokens_are_the_default(client: httpx.Client) -> None:
    for limit in ({}, {"max_tokens": None}):
        answer = _post(client, prompt="hello", temperature=0, ignore_eos=True, **limit)
        assert answer["usage"]["completion_tokens"] == 16


def test_prompts_of_every_form_are_answered_in_order(client: httpx.Client) -> None:
    wanted = [_library(prompt, **GREEDY)[0] for prompt in ("hello", "you")]
    ids = [[256, *b"hello"], [256, *b"you"]]
    for prompt in (["hello", "you"], ids):
        answer = _post(client, prompt=prompt, **GREEDY)
        assert [choice["text"] for choice in answer["choices"]] == wanted
        assert [choice["index"] for choice in answer["choices"]] == [0, 1]
    assert _post(client, prompt=ids[1], **GREEDY)["choices"][0]["text"] == wanted[1]


def test_choices_of_prompts_stand_side_by_side(client: httpx.Client) -> None:
    body = {"prompt": ["hello", "you"], "n": 2, "seed": 42, "max_tokens": 5}
    answer = _post(client, **body)
    texts = [choice["text"] for choice in answer["choices"]]
    wanted = [
        text for prompt in ("hello", "you") for text in _library(prompt, n=2, seed=42, max_tokens=5)
    ]
    assert texts == wanted
    assert len(set(texts)) == 4
    assert answer["usage"]["prompt_tokens"] == 6 + 4
    assert _texts(_chunks(client, **body)) == dict(enumerate(texts))


def test_a_stream_joins_to_the_whole_and_ends_once(client: httpx.Client) -> None:
    body = {"prompt": "hello", "seed": 7, "max_tokens": 12}
    whole = _post(client, **body)["choices"][0]
    chunks = _chunks(client, **body)
    assert _texts(chunks) == {0: whole["text"]}
    assert len({(chunk["id"], chunk["created"]) for chunk in chunks}) == 1
    reasons = [chunk["choices"][0]["finish_reason"] for chunk in chunks]
    assert reasons == [None] * (len(chunks) - 1) + [whole["finish_reason"]]
    assert all("usage" not in chunk for chunk in chunks)


def test_usage_comes_last_or_with_every_chunk(client: httpx.Client) -> None:
    body = {"prompt": "hello", **GREEDY}
    *others, last = _chunks(client, **body, stream_options={"include_usage": True})
    assert [chunk["usage"] for chunk in others] == [None] * len(others)
    assert (last["choices"], last["usage"]["completion_tokens"]) == ([], 6)
    chunks = _chunks(client, **body, stream_options={"continuous_usage_stats": True})
    counts = [chunk["usage"]["completion_tokens"] for chunk in chunks]
    assert counts == sorted(counts)
    assert counts[-1] == 6


def test_a_beam_search_is_that_of_the_library(client: httpx.Client) -> None:
    answer = _post(client, prompt="hello", n=3, use_beam_search=True, temperature=0, max_tokens=5)
    wanted = _library("hello", n=3, beam=BeamParams(width=3), max_tokens=5)
    assert [choice["text"] for choice in answer["choices"]] == wanted


def test_echo_puts_the_prompt_before_each_choice(client: httpx.Client) -> None:
    body = {"prompt": ["hello", [256, *b"you"]], "n": 2, "seed": 1, "max_tokens": 3}
    plain = [choice["text"] for choice in _post(client, **body)["choices"]]
    wanted = [
        prefix + text for prefix, text in zip(["hello"] * 2 + ["you"] * 2, plain, strict=True)
    ]
    echoed = _post(client, **body, echo=True)
    assert [choice["text"] for choice in echoed["choices"]] == wanted
    assert _texts(_chunks(client, **body, echo=True)) == dict(enumerate(wanted))


@pytest.mark.parametrize("is_stream", [False, True])
def test_the_prompt_alone_can_be_asked_for(client: httpx.Client, is_stream: bool) -> None:
    body = {"prompt": "hello", "echo": True, "max_tokens": 0, "n": 2}
    if is_stream:
        assert _texts(_chunks(client, **body)) == {0: "hello", 1: "hello"}
        return
    answer = _post(client, **body)
    assert [choice["text"] for choice in answer["choices"]] == ["hello"] * 2
    assert {choice["finish_reason"] for choice in answer["choices"]} == {"length"}
    assert answer["usage"]["completion_tokens"] == 0
    scored = _post(client, **body, logprobs=1)["choices"][0]["logprobs"]
    assert "".join(scored["tokens"]) == "hello"
    assert [value is None for value in scored["token_logprobs"]] == [True] + [False] * 5


def test_a_stop_string_is_named_and_never_shown(client: httpx.Client) -> None:
    body = {"prompt": "hello", "temperature": 0.9, "seed": 4, "max_tokens": 40}
    text = _post(client, **body)["choices"][0]["text"]
    stop = text[10:12]
    choice = _post(client, **body, stop=[stop])["choices"][0]
    assert choice["text"] == text[: text.index(stop)]
    assert (choice["finish_reason"], choice["stop_reason"]) == ("stop", stop)
    assert _texts(_chunks(client, **body, stop=stop)) == {0: choice["text"]}


def test_ids_of_tokens_come_where_they_are_asked_for(client: httpx.Client) -> None:
    body = {"prompt": "hello", **GREEDY, "return_token_ids": True}
    (choice,) = _post(client, **body)["choices"]
    assert choice["prompt_token_ids"] == [256, *b"hello"]
    assert len(choice["token_ids"]) == 6
    streamed = [each for chunk in _chunks(client, **body) for each in chunk["choices"]]
    assert [token for each in streamed for token in each["token_ids"]] == choice["token_ids"]


def test_a_prompt_can_be_cut_and_lose_its_start(client: httpx.Client) -> None:
    cut = _post(client, prompt="hello", truncate_prompt_tokens=2, echo=True, **GREEDY)
    assert cut["usage"]["prompt_tokens"] == 2
    bare = _post(client, prompt="hello", add_special_tokens=False, **GREEDY)
    assert bare["usage"]["prompt_tokens"] == 5
    long = _post(client, prompt="x" * 500, truncate_prompt_tokens=-1, **GREEDY)
    assert long["usage"]["prompt_tokens"] == 95
