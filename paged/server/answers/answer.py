"""An answer to one HTTP request, whole or as a stream of events."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import AsyncGenerator, Sequence
from functools import cached_property
from json.encoder import encode_basestring as _encode_text
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

# Stands for a text; encoded it is like nothing else in an event.
_PLACEHOLDER = "\0"

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
        # By choice: what is before and after the text in an event that adds nothing else.
        self._frames: dict[int, tuple[str, str]] = {}
        self._has_frames = not (body.return_token_ids or body.repeats_usage)

    async def whole(self, submission: Submission) -> dict[str, Any]:
        """Wait for all of it. Raises: ApiError, EngineStopped."""
        pieces: list[list[Piece]] = [[] for _ in self._choices]
        while (batch := await submission.pieces()) is not None:
            for index, delta in batch:
                choice = self._choice(submission, index, delta)
                pieces[choice.index].append(choice.push(submission.streams[index], delta))
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

    async def events(self, submission: Submission) -> AsyncGenerator[bytes, None]:
        """Yield server-sent events, with an error as the last where it comes to that."""
        try:
            for choice in self._choices:
                opening = self._form.opening(choice.index)
                if opening is not None:
                    yield self._event([opening], submission).encode()
            while (batch := await submission.pieces()) is not None:
                events = "".join([self._added(submission, *delta) for delta in batch])
                if events:
                    yield events.encode()
            if self._body.includes_usage:
                yield self._event([], submission, has_usage=True).encode()
        except (ApiError, PagedError) as error:
            _log.error("a stream failed: %s", error)
            yield _data(_encode(api_error(error).body)).encode()
        yield DONE

    def _added(self, submission: Submission, index: int, delta: OutputDelta) -> str:
        """Return the events that tell of a delta."""
        choice = self._choice(submission, index, delta)
        text = choice.push_text(delta) if self._has_frames else ""
        if text:
            frame = self._frames.get(choice.index)
            if frame is None:
                frame = self._frames[choice.index] = self._frame(submission, index, choice)
            return f"{frame[0]}{_encode_text(text)}{frame[1]}"
        piece = choice.push(submission.streams[index], delta)
        chunks = self._form.chunks(choice.index, piece, submission.streams[index])
        return "".join([self._event([chunk], submission) for chunk in chunks])

    def _frame(self, submission: Submission, index: int, choice: Choice) -> tuple[str, str]:
        """Return all of a plain event but its text: encoding that anew takes most of the time."""
        plain = Piece(text=_PLACEHOLDER, tokens=())
        (chunk,) = self._form.chunks(choice.index, plain, submission.streams[index])
        # From the right: what a client has named stands before it.
        before, _, after = self._event([chunk], submission).rpartition(_encode_text(_PLACEHOLDER))
        return before, after

    def _choice(self, submission: Submission, index: int, delta: OutputDelta) -> Choice:
        """Return the choice that a delta is for. Raises: ApiError for one that has failed."""
        if delta.error is not None:
            raise api_error(delta.error)
        num_each = len(self._choices) // len(submission.streams)
        return self._choices[index * num_each + delta.sequence_index]

    @cached_property
    def _opened_head(self) -> str:
        """What every event begins with: the head but for its last brace."""
        return _encode(self._head)[:-1]

    def _event(
        self, choices: list[dict[str, Any]], submission: Submission, *, has_usage: bool = False
    ) -> str:
        tail = ""
        if has_usage or self._body.repeats_usage:
            tail = f',"usage":{_encode(usage(submission.streams, self._choices))}'
        elif self._body.includes_usage:
            tail = ',"usage":null'
        return _data(f'{self._opened_head},"choices":{_encode(choices)}{tail}}}')


def _data(text: str) -> str:
    return f"data: {text}\n\n"
