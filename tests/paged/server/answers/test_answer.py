"""A whole answer and a stream, from the same deltas."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import numpy as np
import pytest

from model_zoo.loading.byte_tokenizer import ByteTokenizer
from paged.engine.outputs import OutputDelta
from paged.engine.request_stream import RequestStream
from paged.errors import EngineStopped
from paged.sampling_params import SamplingParams
from paged.scheduler.request import FinishReason, Request
from paged.server.answers.answer import Answer
from paged.server.answers.choice import Choice, ChoiceOptions
from paged.server.answers.completion_form import CompletionForm
from paged.server.protocol.completion import CompletionRequest
from paged.server.protocol.error import ApiError
from paged.server.submission import Submission


def _submission(*, num_requests: int = 2) -> Submission:
    """Two sequences of each request, which have all they say already."""
    requests = [
        Request(
            request_id=str(i),
            prompt_tokens=np.array([1, 2], np.int32),
            max_new_tokens=2,
            num_sequences=2,
            sampling=SamplingParams(n=2),
        )
        for i in range(num_requests)
    ]
    submission = Submission(requests, lambda _: None)
    submission.streams = tuple(RequestStream(each, ByteTokenizer()) for each in requests)
    return submission


def _say(submission: Submission, request: int, sequence: int, text: str, **more: Any) -> None:
    submission.push(
        request,
        OutputDelta(
            request_id="", sequence_index=sequence, text=text, tokens=tuple(text.encode()), **more
        ),
    )


def _answer(*, num_choices: int = 4, **body: Any) -> Answer:
    request = CompletionRequest(prompt="a", **body)
    tokenizer = ByteTokenizer()
    choices = [Choice(i, tokenizer, ChoiceOptions()) for i in range(num_choices)]
    return Answer(
        request, CompletionForm(request, tokenizer), choices, answer_id="cmpl-1", model="m"
    )


def _events(answer: Answer, submission: Submission) -> list[Any]:
    async def run() -> bytes:
        return b"".join([event async for event in answer.events(submission)])

    *events, done, rest = asyncio.run(run()).decode().split("\n\n")
    assert (done, rest) == ("data: [DONE]", "")
    return [json.loads(event.removeprefix("data: ")) for event in events]


def _finished() -> Submission:
    submission = _submission()
    for request in (1, 0):
        for sequence in (1, 0):
            _say(submission, request, sequence, f"{request}{sequence}")
            _say(submission, request, sequence, "!", reason=FinishReason.LENGTH)
    return submission


def test_choices_stand_by_request_then_by_sequence() -> None:
    whole = asyncio.run(_answer().whole(_finished()))
    assert [choice["text"] for choice in whole["choices"]] == ["00!", "01!", "10!", "11!"]
    assert [choice["index"] for choice in whole["choices"]] == [0, 1, 2, 3]
    assert (whole["id"], whole["model"]) == ("cmpl-1", "m")
    assert whole["usage"]["total_tokens"] == 4 + 12


def test_events_carry_the_same_text_and_one_head() -> None:
    events = _events(_answer(stream=True), _finished())
    texts = [""] * 4
    for event in events:
        (choice,) = event["choices"]
        texts[choice["index"]] += choice["text"]
    assert texts == ["00!", "01!", "10!", "11!"]
    assert len({(event["id"], event["created"], event["model"]) for event in events}) == 1


def test_a_step_that_failed_is_an_error_of_the_server_without_its_insides() -> None:
    failed = {"error": RuntimeError("secret"), "reason": FinishReason.ERROR}
    submission = _submission()
    _say(submission, 0, 0, "", **failed)
    with pytest.raises(ApiError, match="its log says why") as caught:
        asyncio.run(_answer().whole(submission))
    assert caught.value.status == 500
    submission = _submission()
    _say(submission, 0, 0, "a")
    _say(submission, 0, 0, "", **failed)
    (event,) = _events(_answer(stream=True), submission)
    assert event["error"]["code"] == 500
    assert "secret" not in str(event)


def test_the_engines_end_is_the_last_event() -> None:
    submission = _submission()
    submission.fail(EngineStopped("the engine serves no requests: it died"))
    (event,) = _events(_answer(stream=True), submission)
    assert event["error"]["code"] == 503
