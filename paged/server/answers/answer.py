"""An answer to one HTTP request, whole or as a stream of events."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

from paged.engine.outputs import OutputDelta
from paged.errors import PagedError
from paged.server.answers.choice import Choice
from paged.server.answers.form import Form
from paged.server.answers.piece import Piece, joined
from paged.server.answers.usage import usage
from paged.server.protocol.error import ApiError, api_error
from paged.server.protocol.sampling import SamplingFields
from paged.server.submission import Submission

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
DONE = b"data: [DONE]\n\n"

_log = logging.getLogger("paged.server")


class Answer:
    """Puts what the engine says of a submission into the form of an endpoint.

    choices: those of the first request, then of the second, and so on.
    """

    def __init__(
        self,
        body: SamplingFields,
        form: Form,
        choices: Sequence[Choice],
        *,
        answer_id: str,
        model: str,
    ) -> None:
        self._body = body
        self._form = form
        self._choices = choices
        self._head: dict[str, Any] = {
            "id": answer_id,
            "object": form.chunk_object if body.stream else form.whole_object,
            "created": int(time.time()),
            "model": model,
        }
        # Every event begins with it; its last brace is left out.
        self._opened_head = _encode(self._head)[:-1]

    async def whole(self, submission: Submission) -> dict[str, Any]:
        """Wait for all of it. Raises: ApiError, EngineStopped."""
        pieces: list[list[Piece]] = [[] for _ in self._choices]
        async for batch in submission.pieces():
            for index, delta in batch:
                choice, piece = self._take(submission, index, delta)
                pieces[choice.index].append(piece)
        num_each = len(self._choices) // len(submission.streams)
        choices = [
            self._form.choice(index, joined(each), submission.streams[index // num_each])
            for index, each in enumerate(pieces)
        ]
        return {
            **self._head,
            "choices": choices,
            "usage": usage(submission.streams, self._choices),
            **self._form.extras(submission.streams),
        }

    async def events(self, submission: Submission) -> AsyncIterator[bytes]:
        """Yield server-sent events, with an error as the last where it comes to that."""
        try:
            for choice in self._choices:
                opening = self._form.opening(choice.index)
                if opening is not None:
                    yield self._event([opening], submission)
            async for batch in submission.pieces():
                events = [
                    self._event([chunk], submission)
                    for index, delta in batch
                    for chunk in self._chunks(submission, index, delta)
                ]
                if events:
                    yield b"".join(events)
            if self._body.includes_usage:
                yield self._event([], submission, has_usage=True)
        except (ApiError, PagedError) as error:
            _log.error("a stream failed: %s", error)
            yield _data(_encode(api_error(error).body))
        yield DONE

    def _chunks(
        self, submission: Submission, index: int, delta: OutputDelta
    ) -> list[dict[str, Any]]:
        choice, piece = self._take(submission, index, delta)
        return self._form.chunks(choice.index, piece, submission.streams[index])

    def _take(self, submission: Submission, index: int, delta: OutputDelta) -> tuple[Choice, Piece]:
        if delta.error is not None:
            raise api_error(delta.error)
        num_each = len(self._choices) // len(submission.streams)
        choice = self._choices[index * num_each + delta.sequence_index]
        return choice, choice.push(submission.streams[index], delta)

    def _event(
        self, choices: list[dict[str, Any]], submission: Submission, *, has_usage: bool = False
    ) -> bytes:
        tail = ""
        if has_usage or self._body.repeats_usage:
            tail = f',"usage":{_encode(usage(submission.streams, self._choices))}'
        elif self._body.includes_usage:
            tail = ',"usage":null'
        return _data(f'{self._opened_head},"choices":{_encode(choices)}{tail}}}')


def _data(text: str) -> bytes:
    return f"data: {text}\n\n".encode()
