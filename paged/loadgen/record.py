"""What became of one request, as its client saw it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Times in seconds from the start of the run.

    due_s: when it should have been sent; None where it waited for another to end.
    first_s: when the first text came; None where none did.
    num_prompt_tokens, num_output_tokens: as the server counts; without its count pieces of
        text are counted, and the prompt is unknown.
    gaps_s: between pieces of text, each of a token or several.
    error: why it failed; None for those that did not.
    """

    index: int
    due_s: float | None
    sent_s: float
    first_s: float | None
    end_s: float
    num_prompt_tokens: int | None
    num_output_tokens: int
    gaps_s: tuple[float, ...] = ()
    error: str | None = None

    @property
    def start_s(self) -> float:
        """When its user began to wait, however late it was sent."""
        return self.sent_s if self.due_s is None else self.due_s

    @property
    def ttft_s(self) -> float | None:
        """Time to the first text."""
        return None if self.first_s is None else self.first_s - self.start_s

    @property
    def latency_s(self) -> float:
        """Time to the end."""
        return self.end_s - self.start_s

    @property
    def tpot_s(self) -> float | None:
        """Time for each token after the first; None where there is none."""
        if self.first_s is None or self.num_output_tokens < 2:
            return None
        return (self.end_s - self.first_s) / (self.num_output_tokens - 1)

    @property
    def normalized_s(self) -> float | None:
        """Time to the end for each token of the output, as in the vLLM paper."""
        return self.latency_s / self.num_output_tokens if self.num_output_tokens else None
