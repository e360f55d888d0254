"""Choices of `/v1/chat/completions`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from model_zoo.loading.byte_tokenizer import ByteTokenizer
from paged.scheduler.request import FinishReason
from paged.server.answers.chat_form import ChatForm
from paged.server.answers.piece import Piece
from paged.server.protocol.chat import ChatRequest

STREAM: Any = SimpleNamespace(
    request=SimpleNamespace(prompt_tokens=np.array([1, 2])), prompt_logprobs=[None]
)


def _form(**body: Any) -> ChatForm:
    return ChatForm(ChatRequest(messages=[], **body), ByteTokenizer())


def test_the_last_delta_is_empty_and_has_the_reason() -> None:
    text, end = _form().chunks(
        2, Piece(text="a", tokens=(97,), reason=FinishReason.STOP, stopped_by="b"), STREAM
    )
    assert (text["index"], text["delta"], text["finish_reason"]) == (2, {"content": "a"}, None)
    assert (end["delta"], end["finish_reason"], end["stop_reason"]) == ({}, "stop", "b")


def test_a_piece_that_shows_nothing_is_no_chunk() -> None:
    assert _form().chunks(0, Piece(text="", tokens=(5,)), STREAM) == []
    (chunk,) = _form(return_token_ids=True).chunks(0, Piece(text="", tokens=(5,)), STREAM)
    assert chunk["token_ids"] == [5]


def test_a_whole_answer_may_tell_ids_and_the_prompt() -> None:
    form = _form(return_token_ids=True, prompt_logprobs=0)
    choice = form.choice(0, Piece(text="a", tokens=(97,), reason=FinishReason.LENGTH), STREAM)
    assert choice["message"]["content"] == "a"
    assert (choice["token_ids"], choice["logprobs"]) == ([97], None)
    assert form.extras([STREAM]) == {"prompt_logprobs": [None], "prompt_token_ids": [1, 2]}
    assert _form().extras([STREAM]) == {}


def test_a_stream_opens_with_who_speaks() -> None:
    assert _form().opening(1) == {
        "index": 1,
        "delta": {"role": "assistant", "content": ""},
        "logprobs": None,
        "finish_reason": None,
    }
