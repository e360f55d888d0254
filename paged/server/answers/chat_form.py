"""Answers of `/v1/chat/completions`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from model_zoo.loading.tokenizer import Tokenizer
from paged.engine.request_stream import RequestStream
from paged.server.answers.logprobs import LogprobsForm
from paged.server.answers.piece import Piece
from paged.server.protocol.chat import ChatRequest


class ChatForm:
    """Implements `Form`, for one request."""

    whole_object = "chat.completion"
    chunk_object = "chat.completion.chunk"

    def __init__(self, body: ChatRequest, tokenizer: Tokenizer) -> None:
        self._has_token_ids = bool(body.return_token_ids)
        self._has_prompt_logprobs = body.prompt_logprobs is not None
        self._logprobs = LogprobsForm(tokenizer, as_ids=bool(body.return_tokens_as_token_ids))

    def opening(self, index: int) -> dict[str, Any] | None:
        """Return a delta that says who speaks."""
        return _delta(index, {"role": "assistant", "content": ""})

    def chunks(self, index: int, piece: Piece, stream: RequestStream) -> list[dict[str, Any]]:
        """Return a delta with the text, then an empty one with the reason of the end."""
        chunks: list[dict[str, Any]] = []
        if piece.text or piece.entries or (piece.tokens and self._has_token_ids):
            chunk = _delta(index, {"content": piece.text})
            chunk["logprobs"] = self._content(piece)
            if self._has_token_ids:
                chunk["token_ids"] = list(piece.tokens)
            chunks.append(chunk)
        if piece.reason is not None:
            chunk = _delta(index, {})
            chunk |= {"finish_reason": piece.reason.value, "stop_reason": piece.stopped_by}
            chunks.append(chunk)
        return chunks

    def choice(self, index: int, piece: Piece, stream: RequestStream) -> dict[str, Any]:
        """Return a whole choice."""
        choice: dict[str, Any] = {
            "index": index,
            "message": {"role": "assistant", "content": piece.text, "refusal": None},
            "logprobs": self._content(piece),
            "finish_reason": None if piece.reason is None else piece.reason.value,
            "stop_reason": piece.stopped_by,
        }
        if self._has_token_ids:
            choice["token_ids"] = list(piece.tokens)
        return choice

    def extras(self, streams: Sequence[RequestStream]) -> dict[str, Any]:
        """Return what was asked of the prompt."""
        extras: dict[str, Any] = {}
        if self._has_prompt_logprobs:
            extras["prompt_logprobs"] = self._logprobs.prompt(streams[0].prompt_logprobs or [])
        if self._has_token_ids:
            extras["prompt_token_ids"] = streams[0].request.prompt_tokens.tolist()
        return extras

    def _content(self, piece: Piece) -> dict[str, Any] | None:
        return None if piece.entries is None else self._logprobs.chat(piece.entries)


def _delta(index: int, delta: dict[str, Any]) -> dict[str, Any]:
    return {"index": index, "delta": delta, "logprobs": None, "finish_reason": None}
