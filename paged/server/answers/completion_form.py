"""Answers of `/v1/completions`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from model_zoo.loading.tokenizer import Tokenizer
from paged.engine.request_stream import RequestStream
from paged.server.answers.logprobs import LogprobsForm
from paged.server.answers.piece import Piece
from paged.server.protocol.completion import CompletionRequest


class CompletionForm:
    """Implements `Form`, for one request."""

    whole_object = "text_completion"
    chunk_object = "text_completion"

    def __init__(self, body: CompletionRequest, tokenizer: Tokenizer) -> None:
        self._has_token_ids = bool(body.return_token_ids)
        self._has_prompt_logprobs = body.prompt_logprobs is not None
        self._logprobs = LogprobsForm(tokenizer, as_ids=bool(body.return_tokens_as_token_ids))
        self._offsets: defaultdict[int, int] = defaultdict(int)

    def opening(self, index: int) -> dict[str, Any] | None:
        """Return nothing: a choice begins with its first piece."""
        return None

    def chunks(self, index: int, piece: Piece, stream: RequestStream) -> list[dict[str, Any]]:
        """Return one choice with the piece's text."""
        has_news = piece.text or piece.reason is not None or piece.entries
        if not has_news and not self._has_token_ids:
            return []
        return [self._fields(index, piece, stream)]

    def choice(self, index: int, piece: Piece, stream: RequestStream) -> dict[str, Any]:
        """Return a whole choice."""
        choice = self._fields(index, piece, stream)
        if self._has_prompt_logprobs:
            choice["prompt_logprobs"] = self._logprobs.prompt(stream.prompt_logprobs or [])
        return choice

    def extras(self, streams: Sequence[RequestStream]) -> dict[str, Any]:
        """Return nothing: what is said of a prompt stands in its choices."""
        return {}

    def _fields(self, index: int, piece: Piece, stream: RequestStream) -> dict[str, Any]:
        logprobs = None
        if piece.entries is not None:
            first_offset = self._offsets[index]
            logprobs = self._logprobs.completion(piece.entries, first_offset=first_offset)
            self._offsets[index] += sum(len(entry.text) for entry in piece.entries)
        fields: dict[str, Any] = {
            "index": index,
            "text": piece.text,
            "logprobs": logprobs,
            "finish_reason": None if piece.reason is None else piece.reason.value,
            "stop_reason": piece.stopped_by,
        }
        if self._has_token_ids:
            fields["token_ids"] = list(piece.tokens)
            fields["prompt_token_ids"] = stream.request.prompt_tokens.tolist()
        return fields
