"""Bodies of requests turned into requests of the engine."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from paged.errors import RequestRefused
from paged.server.intake import Intake, Taken
from paged.server.protocol.chat import ChatRequest
from paged.server.protocol.completion import CompletionRequest
from paged.server.protocol.error import ApiError
from tests.helpers.live_server import CHAT
from tests.helpers.tiny_llm import tiny_model


@pytest.fixture
def intake() -> Intake:
    return Intake(tiny_model(), seed=0, max_sequences=8)


def _completion(intake: Intake, **body: Any) -> Taken:
    request = CompletionRequest(**{"prompt": "hello", **body})
    return asyncio.run(intake.completion(request, arrival_s=2.0))


def _chat(intake: Intake, **body: Any) -> Taken:
    return asyncio.run(intake.chat(ChatRequest(**{"messages": CHAT, **body}), arrival_s=2.0))


def test_ids_of_the_engine_are_used_once_whatever_clients_send(intake: Intake) -> None:
    taken = [_completion(intake, prompt=["a", "b"], request_id="mine") for _ in range(2)]
    assert {each.answer_id for each in taken} == {"cmpl-mine"}
    ids = [request.request_id for each in taken for request in each.requests]
    assert len(set(ids)) == 4
    assert all(each.startswith("cmpl-mine.") for each in ids)
    assert _chat(intake).answer_id.startswith("chatcmpl-")
    assert _completion(intake).answer_id != _completion(intake).answer_id
    for bad in ("", "x" * 129):
        with pytest.raises(ApiError, match="request_id"):
            _completion(intake, request_id=bad)


def test_requests_carry_arrival_and_priority(intake: Intake) -> None:
    (request,) = _completion(intake, priority=-3).requests
    assert (request.arrival_s, request.priority) == (2.0, -3)
    assert _chat(intake).requests[0].priority == 0


def test_texts_are_those_of_the_prompts_where_they_are_shown(intake: Intake) -> None:
    assert _completion(intake, prompt=["a", [256, 98]], echo=True).texts == ["a", "b"]
    assert _completion(intake, prompt=[256, 98]).texts == []


def test_a_text_is_encoded_as_it_is_asked(intake: Intake) -> None:
    assert _completion(intake).requests[0].prompt_tokens.tolist() == [256, *b"hello"]
    bare = _completion(intake, add_special_tokens=False).requests[0]
    assert bare.prompt_tokens.tolist() == [*b"hello"]
    assert _chat(intake).requests[0].prompt_tokens[0] != 256
    assert _chat(intake, add_special_tokens=True).requests[0].prompt_tokens[0] == 256


def test_a_long_text_is_encoded_in_another_thread(
    intake: Intake, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []

    def encode(text: str, *, add_special_tokens: bool) -> list[int]:
        threads.append(threading.current_thread())
        return [1, 2]

    monkeypatch.setattr(intake.tokenizer, "encode", encode)
    _completion(intake, prompt=["short", "x" * 5000])
    assert [thread is threading.main_thread() for thread in threads] == [True, False]


def test_the_last_tokens_of_a_prompt_are_kept(intake: Intake) -> None:
    cut = _completion(intake, truncate_prompt_tokens=2).requests[0]
    assert cut.prompt_tokens.tolist() == [*b"lo"]
    assert _completion(intake, truncate_prompt_tokens=50).requests[0].num_prompt_tokens == 6
    full = _completion(intake, prompt="x" * 500, truncate_prompt_tokens=-1).requests[0]
    assert (full.num_prompt_tokens, full.max_new_tokens) == (95, 1)
    for bad in (0, -2, 96):
        with pytest.raises(ApiError, match="truncate_prompt_tokens: expected -1 or 1 to 95"):
            _completion(intake, truncate_prompt_tokens=bad)
    with pytest.raises(RequestRefused, match="leaves no room"):
        _completion(intake, prompt="x" * 500)


def test_sequences_are_counted_before_anything_is_encoded(
    intake: Intake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake.tokenizer, "encode", None)
    with pytest.raises(ApiError, match="at most 8, got 9"):
        _completion(intake, prompt=["a"] * 3, n=3)
    with pytest.raises(ApiError, match="at most 8, got 9"):
        _chat(intake, n=9)


def test_a_chat_may_go_on_from_its_last_message(intake: Intake) -> None:
    messages = [*CHAT, {"role": "assistant", "content": " I am "}]
    body = ChatRequest(messages=messages, continue_final_message=True)
    assert asyncio.run(intake.chat_text(body)) == "user: hi\nassistant:  I am"
    empty = ChatRequest(
        messages=[*CHAT, {"role": "assistant", "content": " "}], continue_final_message=True
    )
    with pytest.raises(ApiError, match="the last message is empty"):
        asyncio.run(intake.chat_text(empty))


def test_chats_are_rendered_in_a_thread_one_at_a_time(
    intake: Intake, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendering = threading.Lock()
    threads: list[threading.Thread] = []

    def apply_chat_template(_messages: Any, **_options: Any) -> str:
        assert rendering.acquire(blocking=False)
        threads.append(threading.current_thread())
        rendering.release()
        return "text"

    async def render() -> list[str]:
        bodies = [ChatRequest(messages=CHAT) for _ in range(20)]
        return await asyncio.gather(*map(intake.chat_text, bodies))

    monkeypatch.setattr(intake.tokenizer, "apply_chat_template", apply_chat_template)
    assert asyncio.run(render()) == ["text"] * 20
    assert threading.main_thread() not in threads
