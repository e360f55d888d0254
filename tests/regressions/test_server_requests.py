"""Requests that broke other servers: ours refuses them, or answers, and lives on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.helpers.live_server import CHAT, LiveServer, live_server

COMPLETIONS, CHATS = "/v1/completions", "/v1/chat/completions"


@pytest.fixture(scope="module")
def running() -> Iterator[LiveServer]:
    """Serve for this module."""
    with live_server() as server:
        yield server
        server.wait_until_empty()


@pytest.fixture
def server(running: LiveServer) -> Iterator[LiveServer]:
    """Yield a server that answers a plain request afterwards."""
    yield running
    answer = _post(running, COMPLETIONS, {"prompt": "a", "max_tokens": 2})
    assert answer.status_code == 200


def _post(server: LiveServer, path: str, body: Any) -> httpx.Response:
    """Post JSON that Python writes, with what no JSON should have in it."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"content-type": "application/json"}
    return server.client.post(path, content=content, headers=headers)


def _refused(server: LiveServer, path: str, body: Any, status: int = 400) -> dict[str, Any]:
    answer = _post(server, path, body)
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["code"] == status
    assert "Traceback" not in answer.text
    return error


@pytest.mark.parametrize("prompt", ["", [""], [], [[]], ["a", ""], None, 5, {}, [None], [["a"]]])
def test_an_empty_prompt(server: LiveServer, prompt: Any) -> None:
    """vllm#7283, #7632: the server died of `{"prompt": [""]}`."""
    body = {"prompt": prompt, "add_special_tokens": False}
    assert _refused(server, COMPLETIONS, body)["param"] == "prompt"


@pytest.mark.parametrize(
    "biases", [{"999999999": 1}, {"-1": 1}, {"abc": 1}, {"1.5": 1}, {"5": 101}]
)
def test_a_bias_of_no_token(server: LiveServer, biases: Any) -> None:
    """vllm#16529, #6866, sglang#7670: the engine crashed."""
    body = {"prompt": "a", "logit_bias": biases}
    assert _refused(server, COMPLETIONS, body)["param"] == "logit_bias"


@pytest.mark.parametrize("ids", [[10**6], [-1], [2**31], [2**63], [10**30]])
def test_a_prompt_of_no_tokens(server: LiveServer, ids: list[int]) -> None:
    """vllm#16529: ids past the vocabulary."""
    _refused(server, COMPLETIONS, {"prompt": ids})
    _refused(server, "/detokenize", {"tokens": ids})


@pytest.mark.parametrize("n", [1000000, 0, -1, 1.5, True, "2", 10**30, [1]])
def test_a_number_of_choices_that_is_none(server: LiveServer, n: Any) -> None:
    """vllm#37952: memory ran out."""
    for path, more in ((COMPLETIONS, {"prompt": "a"}), (CHATS, {"messages": CHAT})):
        assert _refused(server, path, {**more, "n": n})["param"] == "n"


@pytest.mark.parametrize("limit", [2**31, 2**63, 10**30])
def test_a_huge_limit_is_what_the_context_has_room_for(server: LiveServer, limit: int) -> None:
    """vllm#1543: the engine was killed."""
    body = {"prompt": "a", "max_tokens": limit, "ignore_eos": True}
    usage = _post(server, COMPLETIONS, body).json()["usage"]
    assert usage["total_tokens"] == 96


def test_one_token_is_one_token(server: LiveServer) -> None:
    """llama.cpp#4790 gave four; sgl-jax PR#56 hung."""
    body = {"prompt": "a", "max_tokens": 1, "ignore_eos": True, "return_token_ids": True}
    answer = _post(server, COMPLETIONS, body).json()
    assert len(answer["choices"][0]["token_ids"]) == 1
    assert answer["choices"][0]["finish_reason"] == "length"
    assert answer["usage"]["completion_tokens"] == 1


def test_a_prompt_that_never_fits_is_refused_at_once(server: LiveServer) -> None:
    """vllm#35541, #765, #1087: it waited for ever."""
    for length in (95, 96, 500):
        error = _refused(server, COMPLETIONS, {"prompt": "x" * length})
        assert "max_model_len is 96" in error["message"]
        assert f"{length + 1} tokens" in error["message"]


@pytest.mark.parametrize("text", [b"\\ud800", b"a\\udfff", b"\\ud800\\ud800"])
@pytest.mark.parametrize("field", ["prompt", "stop", "user", "request_id"])
def test_a_lone_surrogate(server: LiveServer, text: bytes, field: str) -> None:
    """Rapid-MLX#730, tiktoken#82, #541: 500, or a broken stream."""
    _refused(server, COMPLETIONS, b'{"prompt": "a", "%s": "%s"}' % (field.encode(), text))


@pytest.mark.parametrize("text", ["a\0b", "\ufeffa", "\ufffd", "e\u0301", "\U0010ffff"])
def test_odd_characters_come_back_as_they_are(server: LiveServer, text: str) -> None:
    """tiktoken#541: characters that others lose."""
    body = {"prompt": text, "echo": True, "max_tokens": 0}
    assert _post(server, COMPLETIONS, body).json()["choices"][0]["text"] == text
    tokens = _post(server, "/tokenize", {"prompt": text, "add_special_tokens": False}).json()
    joined = _post(server, "/detokenize", {"tokens": tokens["tokens"]}).json()
    assert joined == {"prompt": text}


def test_a_megabyte_of_one_character(server: LiveServer) -> None:
    """It is too long for the context, and says so."""
    assert "max_model_len" in _refused(server, COMPLETIONS, {"prompt": "x" * 10**6})["message"]


def test_log_probabilities_of_a_chat_need_no_alternatives(server: LiveServer) -> None:
    """vllm#4795: `logprobs: true` alone was an error."""
    body = {"messages": CHAT, "logprobs": True, "max_tokens": 2}
    content = _post(server, CHATS, body).json()["choices"][0]["logprobs"]["content"]
    assert [entry["top_logprobs"] for entry in content] == [[], []]
    _refused(server, CHATS, {"messages": CHAT, "top_logprobs": 1})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            ("temperature", value)
            for value in (-1, float("nan"), "inf", 2.0001, float("inf"), True)
        ),
        *(("top_p", value) for value in (0, 1.0001, -0.1)),
        *(("top_k", value) for value in (-2, 1.5, 2**40)),
        *(("min_p", value) for value in (-0.1, 1.1)),
        *(("presence_penalty", value) for value in (-2.1, 2.1)),
        *(("frequency_penalty", value) for value in (-2.1, 2.1)),
        *(("repetition_penalty", value) for value in (0, -1, float("nan"))),
        *(("max_tokens", value) for value in (0, -1, 1.5, "5", True)),
        *(("min_tokens", value) for value in (-1, 17)),
        *(("logprobs", value) for value in (-1, 21, True)),
        *(("prompt_logprobs", value) for value in (-1, 21)),
        *(("seed", value) for value in (2**63, -(2**63) - 1, 1.5, "1")),
        *(("stop", value) for value in ("", [""], ["a"] * 1000, [5], 5, ["x" * 1000])),
        *(("stop_token_ids", value) for value in ([-1], [10**6], ["a"], 5)),
        *(("stream", value) for value in ("yes", 1, "true")),
        *(("echo", value) for value in ("yes", 1)),
        ("stream_options", {"include_usage": True}),
        ("truncate_prompt_tokens", 0),
        ("length_penalty", 1.0),
        ("best_of", 2),
        ("suffix", "x"),
        ("user", 5),
        ("request_id", "x" * 1000),
        ("priority", "high"),
        ("bad_words", ["x"]),
        ("allowed_token_ids", [1]),
        ("spaces_between_special_tokens", False),
        ("response_format", {"type": "sound"}),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(server: LiveServer, name: str, value: Any) -> None:
    """Section 1c of the contract: never ignored, never an error of the server."""
    error = _refused(server, COMPLETIONS, {"prompt": "a", name: value})
    assert error["param"] == name or (error["param"] is None and name in error["message"])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", 1e-9),
        *(("top_k", value) for value in (-1, 0, 300)),
        ("stop", []),
        ("stop", None),
        *(("seed", value) for value in (-1, None, 2**63 - 1)),
        ("stream_options", None),
        ("logit_bias", None),
        ("logit_bias", {}),
        ("n", None),
        ("user", "me"),
        ("a_field_that_nobody_knows", {"x": 1}),
        ("response_format", {"type": "text"}),
        ("best_of", 1),
    ],
)
def test_a_value_at_the_edge_is_accepted(server: LiveServer, name: str, value: Any) -> None:
    """Clients send them."""
    body = {"prompt": "a", "max_tokens": 2, name: value}
    answer = _post(server, COMPLETIONS, body)
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'"a"', b"null", b"\xff", b"{'a': 1}", b"1" * 9999]
)
def test_a_body_that_is_no_object(server: LiveServer, body: bytes) -> None:
    """One answer for all of them."""
    for path in (COMPLETIONS, CHATS, "/tokenize", "/detokenize"):
        _refused(server, path, body)


def test_nesting_that_is_too_deep(server: LiveServer) -> None:
    """A parser's recursion is no reason to die."""
    _refused(server, COMPLETIONS, b'{"prompt": ' + b"[" * 100_000)


def test_an_unknown_model_and_another_content_type(server: LiveServer) -> None:
    """404 and 400, in the same form."""
    error = _refused(server, COMPLETIONS, {"prompt": "a", "model": "x"}, status=404)
    assert error["message"] == "The model `x` does not exist."
    answer = server.client.post(COMPLETIONS, content=b'{"prompt": "a"}')
    assert answer.status_code == 400
    assert server.client.get(COMPLETIONS).status_code == 405
