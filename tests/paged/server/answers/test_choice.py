"""One choice: text, tokens, log-probabilities, the prompt before them."""

from __future__ import annotations

import numpy as np
import pytest

from model_zoo.loading.byte_tokenizer import ByteTokenizer
from model_zoo.tiny import BOS_ID, EOS_ID
from paged.engine.logprobs import TokenLogprob
from paged.engine.outputs import OutputDelta, PositionLogprobs
from paged.engine.request_stream import RequestStream
from paged.sampling_params import SamplingParams
from paged.scheduler.request import FinishReason, Request
from paged.server.answers.choice import Choice, ChoiceOptions


def _position(token: int) -> PositionLogprobs:
    own = TokenLogprob(token=token, logprob=-float(token), rank=3)
    return PositionLogprobs(token=own, top=(TokenLogprob(token=65, logprob=-0.5, rank=1),))


def _stream(prompt: bytes = b"hi") -> RequestStream:
    request = Request(
        request_id="r",
        prompt_tokens=np.array([BOS_ID, *prompt], np.int32),
        max_new_tokens=4,
        sampling=SamplingParams(prompt_logprobs=1),
    )
    stream = RequestStream(request, ByteTokenizer())
    stream.prompt_logprobs = [None, *(_position(token) for token in prompt)]
    return stream


def _delta(tokens: list[int], text: str, *, ends: FinishReason | None = None) -> OutputDelta:
    return OutputDelta(
        request_id="r",
        sequence_index=0,
        text=text,
        tokens=tuple(tokens),
        logprobs=tuple(_position(token) for token in tokens),
        reason=ends,
        stopped_by=None if ends is None else "x",
    )


def test_a_piece_is_what_the_step_added() -> None:
    choice = Choice(0, ByteTokenizer(), ChoiceOptions())
    piece = choice.push(_stream(), _delta([97], "a", ends=FinishReason.STOP))
    assert (piece.text, piece.tokens, piece.entries) == ("a", (97,), None)
    assert (piece.reason, piece.stopped_by) == (FinishReason.STOP, "x")
    assert choice.num_output_tokens == 1


@pytest.mark.parametrize(
    ("options", "echo", "ends", "text"),
    [
        (ChoiceOptions(), None, None, "a"),
        (ChoiceOptions(), "hi", None, ""),
        (ChoiceOptions(), None, FinishReason.STOP, ""),
        (ChoiceOptions(has_logprobs=True), None, None, ""),
        (ChoiceOptions(has_output=False), None, None, ""),
    ],
)
def test_text_alone_is_taken_where_there_is_no_more(
    options: ChoiceOptions, echo: str | None, ends: FinishReason | None, text: str
) -> None:
    choice = Choice(0, ByteTokenizer(), options, echo=echo)
    assert choice.push_text(_delta([97], "a", ends=ends)) == text
    assert choice.num_output_tokens == len(text)


def test_a_token_without_text_is_no_text_alone() -> None:
    choice = Choice(0, ByteTokenizer(), ChoiceOptions())
    assert choice.push_text(_delta([97], "")) == ""
    assert choice.num_output_tokens == 0


def test_the_first_piece_begins_with_the_prompt() -> None:
    choice = Choice(0, ByteTokenizer(), ChoiceOptions(has_logprobs=True), echo="hi")
    first = choice.push(_stream(), _delta([97], "a"))
    second = choice.push(_stream(), _delta([98], "b"))
    assert (first.text, second.text) == ("hia", "b")
    assert first.entries is not None
    assert [entry.text for entry in first.entries] == ["", "h", "i", "a"]
    assert [entry.logprob for entry in first.entries] == [None, -104.0, -105.0, -97.0]
    assert choice.num_output_tokens == 2


@pytest.mark.parametrize("skips", [False, True])
def test_tokens_join_to_the_text_where_characters_span_several(skips: bool) -> None:
    options = ChoiceOptions(has_logprobs=True, skips_special_tokens=skips)
    choice = Choice(0, ByteTokenizer(), options)
    tokens = [*"é".encode(), 97, EOS_ID]
    entries = choice.push(_stream(), _delta(tokens, "éa")).entries
    assert entries is not None
    assert [entry.text for entry in entries] == ["", "é", "a", ""]
    assert b"".join(entry.data for entry in entries) == "éa".encode()


def test_a_prompt_that_breaks_a_character_off_spoils_no_output() -> None:
    choice = Choice(0, ByteTokenizer(), ChoiceOptions(has_logprobs=True), echo="\ufffd")
    entries = choice.push(_stream("é".encode()[:1]), _delta([97], "a")).entries
    assert entries is not None
    assert [entry.text for entry in entries] == ["", "", "a"]


def test_the_prompt_alone_has_no_output() -> None:
    choice = Choice(0, ByteTokenizer(), ChoiceOptions(has_output=False), echo="hi")
    piece = choice.push(_stream(), _delta([97], "a", ends=FinishReason.STOP))
    assert (piece.text, piece.tokens, piece.stopped_by) == ("hi", (), None)
    assert piece.reason is FinishReason.LENGTH
    assert choice.num_output_tokens == 0
