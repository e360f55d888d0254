"""Tokens in, text out: decoding and stop strings of one sequence."""

from __future__ import annotations

from paged.engine.detokenizer import Detokenizer, TokenBytes
from paged.engine.stop_strings import StopStream, StopStrings
from paged.sampling_params import SamplingParams


class TextStream:
    """Output text of one sequence, piece by piece."""

    def __init__(
        self, tokenizer: TokenBytes, params: SamplingParams, stops: StopStrings | None = None
    ) -> None:
        """Start a text. stops: those of params, built once for all sequences of a request."""
        self._pieces: list[str] = []
        self._num_tokens = 0
        self._min_tokens = params.min_tokens
        self._includes_stop = params.include_stop_str_in_output
        self._detokenizer = Detokenizer(tokenizer, skip_special_tokens=params.skip_special_tokens)
        self._stops = StopStream(
            StopStrings(params.stop_strings) if stops is None else stops,
            include_match=self._includes_stop,
        )

    @property
    def text(self) -> str:
        """All that was given out so far. O(its length)."""
        return "".join(self._pieces)

    @property
    def stop_string(self) -> str | None:
        """The stop string that ended the text: the sequence must draw no more tokens."""
        return self._stops.matched

    def push(self, token_id: int, *, is_stop: bool = False) -> str:
        """Take a token and return the text that is certain now.

        is_stop: the token ends the sequence; its own text shows only if stops are included.
        """
        self._num_tokens += 1
        if is_stop and not self._includes_stop:
            return ""
        return self._emit(self._detokenizer.push(token_id))

    def finish(self) -> str:
        """End the text and return its rest: what was held back, and a character cut off."""
        return self._emit(self._detokenizer.finish()) + self._append(self._stops.release())

    def _emit(self, text: str) -> str:
        if self._num_tokens <= self._min_tokens and self.stop_string is None:
            # Stop strings count only beyond the least length; none reaches back into it.
            return self._append(text)
        return self._append(self._stops.push(text))

    def _append(self, text: str) -> str:
        if text:
            self._pieces.append(text)
        return text
