"""Log-probabilities in the form of each endpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from model_zoo.loading.tokenizer import Tokenizer
from paged.engine.outputs import PositionLogprobs
from paged.server.answers.piece import TokenEntry


class LogprobsForm:
    """Names tokens and writes log-probabilities.

    as_ids: tokens are named by their ids, `token_id:17`.
    """

    def __init__(self, tokenizer: Tokenizer, *, as_ids: bool = False) -> None:
        self._tokenizer = tokenizer
        self._as_ids = as_ids

    def completion(self, entries: Sequence[TokenEntry], *, first_offset: int) -> dict[str, Any]:
        """Return the lists of `/v1/completions`.

        first_offset: characters of the choice before these tokens.
        """
        offsets: list[int] = []
        offset = first_offset
        for entry in entries:
            offsets.append(offset)
            offset += len(entry.text)
        return {
            "tokens": [self._text(entry) for entry in entries],
            "token_logprobs": [entry.logprob for entry in entries],
            "top_logprobs": [self._top_by_name(entry) for entry in entries],
            "text_offset": offsets,
        }

    def chat(self, entries: Sequence[TokenEntry]) -> dict[str, Any]:
        """Return the list of `/v1/chat/completions`."""
        return {"content": [self._chat_entry(entry) for entry in entries]}

    def prompt(
        self, positions: Sequence[PositionLogprobs | None]
    ) -> list[Mapping[str, Any] | None]:
        """Return one object for each prompt token, by id; None for the first."""
        return [None if position is None else self._position(position) for position in positions]

    def _text(self, entry: TokenEntry) -> str:
        return f"token_id:{entry.token}" if self._as_ids else entry.text

    def name(self, token: int) -> str:
        """Name a token by itself; one that is no text by its bytes, as OpenAI does."""
        if self._as_ids:
            return f"token_id:{token}"
        data = self._tokenizer.id_to_bytes(token)
        try:
            return data.decode()
        except UnicodeDecodeError:
            return "bytes:" + "".join(f"\\x{byte:02x}" for byte in data)

    def _top_by_name(self, entry: TokenEntry) -> dict[str, float] | None:
        if entry.logprob is None:
            return None
        top = {self.name(other.token): other.logprob for other in entry.top}
        return {self.name(entry.token): entry.logprob} | top

    def _chat_entry(self, entry: TokenEntry) -> dict[str, Any]:
        top = [
            {
                "token": self.name(other.token),
                "logprob": other.logprob,
                "bytes": list(self._tokenizer.id_to_bytes(other.token)),
            }
            for other in entry.top
        ]
        return {
            "token": self._text(entry),
            "logprob": entry.logprob,
            "bytes": list(entry.data),
            "top_logprobs": top,
        }

    def _position(self, position: PositionLogprobs) -> dict[str, Any]:
        return {
            str(each.token): {
                "logprob": each.logprob,
                "rank": each.rank,
                "decoded_token": self.name(each.token),
            }
            for each in (position.token, *position.top)
        }
