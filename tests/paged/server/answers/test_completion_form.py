"""Choices of `/v1/completions`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from model_zoo.loading.byte_tokenizer import ByteTokenizer
from paged.scheduler.request import FinishReason
from paged.server.answers.completion_form import CompletionForm
from paged.server.answers.piece import Piece, TokenEntry
from paged.server.protocol.completion import CompletionRequest

STREAM: Any = SimpleNamespace(
    request=SimpleNamespace(prompt_tokens=np.array([1, 2])), prompt_logprobs=[None]
)


def _form(**body: Any) -> CompletionForm:
    return CompletionForm(CompletionRequest(prompt="a", **body), ByteTokenizer())


def _entry(text: str) -> TokenEntry:
    return TokenEntry(token=ord(text), text=text, data=text.encode(), logprob=-1.0, top=())


def test_a_piece_that_shows_nothing_is_no_chunk() -> None:
    held_back = Piece(text="", tokens=(5,))
    assert _form().chunks(0, held_back, STREAM) == []
    assert len(_form(return_token_ids=True).chunks(0, held_back, STREAM)) == 1
    ended = Piece(text="", tokens=(), reason=FinishReason.STOP, stopped_by=7)
    (chunk,) = _form().chunks(3, ended, STREAM)
    assert (chunk["index"], chunk["finish_reason"], chunk["stop_reason"]) == (3, "stop", 7)


def test_offsets_go_on_from_chunk_to_chunk_for_each_choice() -> None:
    form = _form()
    offsets = [
        form.chunks(index, Piece(text="ab", tokens=(), entries=(_entry("a"), _entry("b"))), STREAM)[
            0
        ]["logprobs"]["text_offset"]
        for index in (0, 1, 0)
    ]
    assert offsets == [[0, 1], [0, 1], [2, 3]]


def test_a_whole_choice_may_tell_ids_and_the_prompt() -> None:
    piece = Piece(text="a", tokens=(97,), reason=FinishReason.LENGTH)
    choice = _form(return_token_ids=True, prompt_logprobs=1).choice(0, piece, STREAM)
    assert (choice["token_ids"], choice["prompt_token_ids"]) == ([97], [1, 2])
    assert choice["prompt_logprobs"] == [None]
    assert _form().opening(0) is None
    assert _form().extras([STREAM]) == {}
