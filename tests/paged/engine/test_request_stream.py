"""One request as its user sees it: pieces, ends and what ended it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from model_zoo.loading.byte_tokenizer import ByteTokenizer
from paged.engine.logprobs import Logprobs
from paged.engine.request_stream import RequestStream, sampling_of
from paged.sampling_params import SamplingParams
from paged.scheduler.batch import Finished
from paged.scheduler.request import FinishReason, Request


def _stream(num_sequences: int = 1, **sampling: Any) -> RequestStream:
    request = Request(
        request_id="a",
        prompt_tokens=np.array([1, 2, 3], np.int32),
        max_new_tokens=9,
        num_sequences=num_sequences,
        sampling=SamplingParams(**sampling),
    )
    return RequestStream(request, ByteTokenizer())


def _finish(stream: RequestStream, last: int, reason: FinishReason, **others: Any) -> None:
    finished = Finished(
        request=stream.request,
        sequence_index=0,
        tokens=np.array([1, 2, 3, last], np.int32),
        reason=reason,
        num_preemptions=0,
        **others,
    )
    stream.sequences[0].finish(finished)


def _push(stream: RequestStream, text: str) -> list[bool]:
    return [stream.sequences[0].push(byte, is_stop=False) for byte in text.encode()]


def test_what_was_taken_is_not_told_again() -> None:
    stream = _stream()
    (sequence,) = stream.sequences
    assert sequence.take() is None
    _push(stream, "ab")
    first = sequence.take()
    assert first is not None
    assert (first.text, first.tokens, first.reason) == ("ab", (97, 98), None)
    assert sequence.take() is None


def test_the_end_is_told_once() -> None:
    stream = _stream()
    (sequence,) = stream.sequences
    _push(stream, "a")
    _finish(stream, 97, FinishReason.LENGTH)
    last = sequence.take()
    assert last is not None
    assert (last.text, last.reason) == ("a", FinishReason.LENGTH)
    assert sequence.take() is None
    assert stream.is_over


def test_a_character_that_is_cut_off_is_flushed_at_the_end() -> None:
    stream = _stream()
    (sequence,) = stream.sequences
    sequence.push("é".encode()[0], is_stop=False)
    piece = sequence.take()
    assert piece is not None
    assert piece.text == ""
    _finish(stream, 195, FinishReason.LENGTH)
    rest = sequence.take()
    assert rest is not None
    assert rest.text == "\ufffd"


def test_a_stop_string_ends_the_sequence_and_is_told() -> None:
    stream = _stream(stop="cd")
    (sequence,) = stream.sequences
    assert _push(stream, "abcd") == [False, False, False, True]
    delta = sequence.take()
    assert delta is not None
    assert (delta.text, delta.reason, delta.stopped_by) == ("ab", FinishReason.STOP, "cd")
    assert delta.tokens == (97, 98, 99, 100)
    assert sequence.is_over


def test_a_stop_string_that_the_flush_completes_counts() -> None:
    stream = _stream(stop="\ufffd")
    (sequence,) = stream.sequences
    sequence.push("é".encode()[0], is_stop=False)
    _finish(stream, 195, FinishReason.LENGTH)
    delta = sequence.take()
    assert delta is not None
    assert (delta.reason, delta.stopped_by) == (FinishReason.STOP, "\ufffd")


@pytest.mark.parametrize(("stop_ids", "stopped_by"), [([7], 7), ([8], None)])
def test_a_stop_id_is_told_and_the_models_own_end_is_not(
    stop_ids: list[int], stopped_by: int | None
) -> None:
    stream = _stream(stop_token_ids=stop_ids)
    stream.sequences[0].push(7, is_stop=True)
    _finish(stream, 7, FinishReason.STOP)
    delta = stream.sequences[0].take()
    assert delta is not None
    assert (delta.text, delta.tokens) == ("", (7,))
    assert (delta.reason, delta.stopped_by) == (FinishReason.STOP, stopped_by)


def test_an_error_is_told() -> None:
    stream = _stream()
    error = ArithmeticError("broken")
    _finish(stream, 3, FinishReason.ERROR, error=error)
    delta = stream.sequences[0].take()
    assert delta is not None
    assert (delta.reason, delta.error) == (FinishReason.ERROR, error)


def test_a_request_is_over_with_its_last_sequence() -> None:
    stream = _stream(2, n=2)
    _finish(stream, 3, FinishReason.LENGTH)
    assert not stream.is_over
    stream.sequences[1].is_over = True
    assert stream.is_over


def test_prompt_tokens_are_reported_at_their_places() -> None:
    stream = _stream(prompt_logprobs=1)
    logprobs = Logprobs(
        tokens=np.array([2, 3], np.int32),
        logprobs=np.array([-1.0, -2.0], np.float32),
        ranks=np.array([4, 1]),
        top_tokens=np.array([[9], [3]], np.int32),
        top_logprobs=np.array([[-0.5], [-2.0]], np.float32),
        num_top=np.array([1, 1]),
    )
    stream.report_prompt(1, logprobs)
    assert stream.prompt_logprobs is not None
    first, second, third = stream.prompt_logprobs
    assert first is None
    assert second is not None
    assert (second.token.token, second.token.rank, second.top[0].token) == (2, 4, 9)
    assert third is not None
    assert third.token.logprob == -2.0


def test_without_a_wish_for_it_nothing_is_kept_of_the_prompt() -> None:
    assert _stream().prompt_logprobs is None


def test_a_request_without_parameters_is_no_request_of_a_user() -> None:
    request = Request(request_id="a", prompt_tokens=np.array([1], np.int32), max_new_tokens=1)
    with pytest.raises(TypeError, match="request a has no sampling parameters"):
        sampling_of(request)


@pytest.mark.parametrize("error", [None, ArithmeticError("too complex")])
def test_a_sequence_that_is_ended_gives_what_it_held_back(error: Exception | None) -> None:
    stream = _stream(stop=["ab"])
    sequence = stream.sequences[0]
    assert not sequence.push(ord("a"), is_stop=False)
    sequence.end(error)
    delta = sequence.take()
    assert delta is not None
    assert (delta.text, delta.error) == ("a", error)
    assert delta.reason is (FinishReason.STOP if error is None else FinishReason.ERROR)
    assert sequence.is_over
