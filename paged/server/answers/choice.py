"""One choice of an answer as its tokens come."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from model_zoo.loading.tokenizer import Tokenizer
from paged.engine.detokenizer import Detokenizer
from paged.engine.outputs import OutputDelta, PositionLogprobs
from paged.engine.request_stream import RequestStream
from paged.scheduler.request import FinishReason
from paged.server.answers.piece import Piece, TokenEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceOptions:
    """What the choices of a request hold.

    has_logprobs: log-probabilities of what they show. has_output: False for the prompt alone.
    skips_special_tokens: as of the request.
    """

    has_logprobs: bool = False
    has_output: bool = True
    skips_special_tokens: bool = True


class Choice:
    """Turns what the engine says of a sequence into pieces of a choice.

    echo: text of the prompt, where the choice begins with it.
    """

    def __init__(
        self, index: int, tokenizer: Tokenizer, options: ChoiceOptions, *, echo: str | None = None
    ) -> None:
        self.index = index
        self.num_output_tokens = 0
        self._options = options
        self._echo = echo
        self._tokenizer = tokenizer

    def push_text(self, delta: OutputDelta) -> str:
        """Take what adds text and nothing else that a client may see, but for token ids.

        Return the text; nothing is taken and returned where a delta is for `push`.
        """
        options = self._options
        has_more = delta.reason is not None or self._echo is not None
        if has_more or options.has_logprobs or not options.has_output:
            return ""
        if delta.text:
            self.num_output_tokens += len(delta.tokens)
        return delta.text

    def push(self, stream: RequestStream, delta: OutputDelta) -> Piece:
        """Take what a step added; the first piece begins with the prompt if that is shown."""
        text, tokens, reason = delta.text, delta.tokens, delta.reason
        positions: Sequence[PositionLogprobs] = delta.logprobs or ()
        if not self._options.has_output:
            text, tokens, positions = "", (), ()
            reason = None if reason is None else FinishReason.LENGTH
        self.num_output_tokens += len(tokens)
        entries: list[TokenEntry] = []
        if self._echo is not None:
            text = self._echo + text
            if self._options.has_logprobs:
                entries += self._prompt_entries(stream)
            self._echo = None
        if self._options.has_logprobs:
            entries += self._entries(tokens, positions)
        return Piece(
            text=text,
            tokens=tokens,
            entries=tuple(entries) if self._options.has_logprobs else None,
            reason=reason,
            stopped_by=delta.stopped_by if self._options.has_output else None,
        )

    @cached_property
    def _detokenizer(self) -> Detokenizer:
        """What gives tokens their texts, for those who ask for each of them."""
        skips = self._options.skips_special_tokens
        return Detokenizer(self._tokenizer, skip_special_tokens=skips)

    def _prompt_entries(self, stream: RequestStream) -> list[TokenEntry]:
        tokens: list[int] = stream.request.prompt_tokens.tolist()
        entries = self._entries(tokens, stream.prompt_logprobs or [None] * len(tokens))
        # A character that the prompt breaks off is no part of the output's first.
        self._detokenizer.finish()
        return entries

    def _entries(
        self, tokens: Iterable[int], positions: Iterable[PositionLogprobs | None]
    ) -> list[TokenEntry]:
        return [
            self._entry(token, position) for token, position in zip(tokens, positions, strict=True)
        ]

    def _entry(self, token: int, position: PositionLogprobs | None) -> TokenEntry:
        is_shown = not (self._options.skips_special_tokens and token in self._tokenizer.special_ids)
        return TokenEntry(
            token=token,
            text=self._detokenizer.push(token),
            data=self._tokenizer.id_to_bytes(token) if is_shown else b"",
            logprob=None if position is None else position.token.logprob,
            top=() if position is None else position.top,
        )
