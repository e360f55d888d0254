"""`/v1/chat/completions` over a real socket."""

from __future__ import annotations

import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from model_zoo.loading.chat_template import ChatTemplate
from paged.sampling_params import SamplingParams
from tests.helpers.live_server import CHAT, events_of, live_server
from tests.helpers.tiny_llm import tiny_llm

PATH = "/v1/chat/completions"
GREEDY = {"temperature": 0, "max_tokens": 6, "ignore_eos": True}


def _post(client: httpx.Client, **body: Any) -> Any:
    response = client.post(PATH, json={"messages": CHAT, **body})
    assert response.status_code == 200, response.text
    return response.json()


def _chunks(client: httpx.Client, **body: Any) -> list[Any]:
    response = client.post(PATH, json={"messages": CHAT, **body, "stream": True})
    *events, done = events_of(response)
    assert done == "[DONE]"
    return [json.loads(event) for event in events]


def test_a_template_that_is_refused_tells_why(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {
        "{{ 'x' * 10 ** 10 }}": "more work than making .*; send less, or name another template",
        "{{ 'x'|center(10 ** 10) }}": "No filter named 'center'.*; name another",
        "{{ raise_exception('roles must alternate') }}": "roles must alternate",
    }
    with live_server() as server:
        for text, why in texts.items():
            template = ChatTemplate(text, source="mine", special_tokens={})
            monkeypatch.setattr(server.service.model.tokenizer, "_template", template)
            for path in (PATH, "/tokenize"):
                response = server.client.post(path, json={"messages": CHAT})
                assert response.status_code == 400
                assert re.search(f"mine.*{why}", response.json()["error"]["message"])


def test_others_are_answered_while_a_chat_is_rendered(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, goes_on = threading.Event(), threading.Event()

    def apply_chat_template(*_args: Any, **_options: Any) -> str:
        begun.set()
        assert goes_on.wait(60)
        return "text"

    with live_server() as server, ThreadPoolExecutor(1) as pool:
        tokenizer = server.service.model.tokenizer
        monkeypatch.setattr(tokenizer, "apply_chat_template", apply_chat_template)
        chat = pool.submit(server.client.post, PATH, json={"messages": CHAT, **GREEDY})
        assert begun.wait(60)
        completion = server.client.post("/v1/completions", json={"prompt": "a", **GREEDY})
        assert completion.status_code == 200
        assert not chat.done()
        goes_on.set()
        assert chat.result().status_code == 200


def test_an_answer_has_openais_form_and_the_librarys_text(client: httpx.Client) -> None:
    # transformers#45057: the first json.loads gives the object.
    answer = _post(client, **GREEDY)
    assert isinstance(answer, dict)
    assert answer["id"].startswith("chatcmpl-")
    assert answer["object"] == "chat.completion"
    (choice,) = answer["choices"]
    (output,) = tiny_llm().chat(CHAT, SamplingParams(**GREEDY))
    assert choice["message"]["content"] == output.outputs[0].text
    assert choice["message"]["role"] == "assistant"
    assert choice["finish_reason"] == "length"
    assert answer["usage"]["prompt_tokens"] == len("user: hi\nassistant: ")


def test_a_stream_begins_with_the_role_and_ends_with_an_empty_delta(client: httpx.Client) -> None:
    body = {"seed": 3, "max_tokens": 9, "n": 2}
    whole = [each["message"]["content"] for each in _post(client, **body)["choices"]]
    chunks = _chunks(client, **body)
    texts, reasons = ["", ""], [[], []]
    for chunk in chunks:
        (choice,) = chunk["choices"]
        texts[choice["index"]] += choice["delta"].get("content", "")
        reasons[choice["index"]].append(choice["finish_reason"])
        if choice["finish_reason"] is not None:
            assert choice["delta"] == {}
    assert [chunk["choices"][0]["delta"] for chunk in chunks[:2]] == [
        {"role": "assistant", "content": ""}
    ] * 2
    assert texts == whole
    # sglang#4550, #2746: exactly one reason, and it is the last.
    assert all(each[:-1] == [None] * (len(each) - 1) and each[-1] for each in reasons)
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}


def test_the_output_may_fill_the_context(client: httpx.Client) -> None:
    usage = _post(client, ignore_eos=True)["usage"]
    assert usage["total_tokens"] == 96
    usage = _post(client, max_tokens=5, max_completion_tokens=3, ignore_eos=True)["usage"]
    assert usage["completion_tokens"] == 3


def test_log_probabilities_come_with_and_without_alternatives(client: httpx.Client) -> None:
    for count, body in ((0, {}), (2, {"top_logprobs": 2})):
        choice = _post(client, **GREEDY, logprobs=True, **body)["choices"][0]
        entries = choice["logprobs"]["content"]
        assert len(entries) == 6
        assert [len(entry["top_logprobs"]) for entry in entries] == [count] * 6
        assert "".join(entry["token"] for entry in entries) == choice["message"]["content"]
        data = bytes(byte for entry in entries for byte in entry["bytes"])
        assert data.decode(errors="replace") == choice["message"]["content"]
        chunks = _chunks(client, **GREEDY, logprobs=True, **body)
        streamed = [each["choices"][0]["logprobs"] for each in chunks]
        assert [entry for each in streamed if each for entry in each["content"]] == entries


def test_a_final_message_can_be_continued(client: httpx.Client) -> None:
    messages = [*CHAT, {"role": "assistant", "content": "I am"}]
    answer = _post(client, messages=messages, continue_final_message=True, **GREEDY)
    assert answer["usage"]["prompt_tokens"] == len("user: hi\nassistant: I am")
    answer = _post(client, add_generation_prompt=False, **GREEDY)
    assert answer["usage"]["prompt_tokens"] == len("user: hi\n")


def test_content_may_come_in_parts(client: httpx.Client) -> None:
    parts = [{"type": "text", "text": "h"}, {"type": "text", "text": "i"}]
    answer = _post(client, messages=[{"role": "user", "content": parts}], **GREEDY)
    assert answer["usage"]["prompt_tokens"] == len("user: h\ni\nassistant: ")


@pytest.mark.parametrize(
    "messages",
    [
        None,
        "hi",
        [],
        [123],
        [{}],
        [{"role": 1, "content": "hi"}],
        [{"role": "nobody", "content": "hi"}],
        [{"role": "user", "content": 1}],
        [{"role": "user", "content": None}],
        [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "a"}}]}],
        [{"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}],
        [{"role": "user", "content": "\ud800"}],
    ],
)
def test_messages_of_another_form_are_refused(client: httpx.Client, messages: Any) -> None:
    body = json.dumps({"messages": messages})
    response = client.post(PATH, content=body, headers={"content-type": "application/json"})
    assert response.status_code == 400
    assert response.json()["error"]["type"] == "BadRequestError"


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"top_logprobs": 2}, "top_logprobs"),
        ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
        ({"tools": [{"type": "function"}]}, "tools"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"chat_template": "{{ 1 }}"}, "chat_template"),
        ({"chat_template_kwargs": {"messages": []}}, "chat_template_kwargs"),
        ({"continue_final_message": True, "add_generation_prompt": True}, "continue_final_message"),
        ({"max_completion_tokens": 0}, "max_tokens"),
        ({"audio": {"voice": "x"}}, "audio"),
        ({"reasoning_effort": "high"}, "reasoning_effort"),
    ],
)
def test_what_is_not_served_is_refused_by_name(
    client: httpx.Client, body: dict[str, Any], param: str
) -> None:
    response = client.post(PATH, json={"messages": CHAT, **body})
    assert response.status_code == 400
    assert response.json()["error"]["param"] == param


def test_options_that_change_nothing_are_accepted(client: httpx.Client) -> None:
    _post(client, tools=[], tool_choice="none", parallel_tool_calls=True, user="me", **GREEDY)
    _post(client, modalities=["text"], service_tier="auto", metadata={"a": "b"}, **GREEDY)
