"""What a user gets: pieces of output as they come, and the whole of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from paged.engine.logprobs import TokenLogprob
from paged.scheduler.request import FinishReason


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionLogprobs:
    """Log-probabilities at one position: of the token that stands there, and the best."""

    token: TokenLogprob
    top: tuple[TokenLogprob, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BeamScore:
    """How good a hypothesis of a beam search is.

    logprob: of all its tokens together, by the model. score: what hypotheses are ordered by,
    logprob / number of tokens ** length_penalty.
    """

    logprob: float
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputDelta:
    """What one step added to one sequence.

    text: certain text; none of it is taken back later.
    tokens: ids, those without text too, such as the end of text.
    logprobs: one for each of tokens, if they were asked for.
    reason: why the sequence ended; None while it goes on. Given once.
    stopped_by: the stop string or stop id that ended it; None for the model's own end.
    error: what failed, if that is the reason.
    beam: of a sequence that a beam search found, given with its end; None for drawn ones.
    """

    request_id: str
    sequence_index: int
    text: str
    tokens: tuple[int, ...]
    logprobs: tuple[PositionLogprobs, ...] | None = None
    reason: FinishReason | None = None
    stopped_by: str | int | None = None
    error: BaseException | None = None
    beam: BeamScore | None = None


@dataclass(slots=True, kw_only=True)
class SequenceOutput:
    """One sequence drawn from a prompt; fields as in `OutputDelta`, all steps together."""

    index: int
    text: str = ""
    tokens: list[int] = field(default_factory=list[int])
    logprobs: list[PositionLogprobs] | None = None
    reason: FinishReason | None = None
    stopped_by: str | int | None = None
    error: BaseException | None = None
    beam: BeamScore | None = None

    @property
    def cumulative_logprob(self) -> float | None:
        """Log-probability of all its tokens together.

        None for a sequence that was drawn without log-probabilities.
        """
        if self.beam is not None:
            return self.beam.logprob
        if self.logprobs is None:
            return None
        return sum(each.token.logprob for each in self.logprobs)

    def add(self, delta: OutputDelta) -> None:
        """Append what a step added."""
        self.text += delta.text
        self.tokens.extend(delta.tokens)
        if delta.logprobs is not None:
            self.logprobs = [*(self.logprobs or []), *delta.logprobs]
        if delta.reason is not None:
            self.reason, self.stopped_by, self.error = delta.reason, delta.stopped_by, delta.error
            self.beam = delta.beam


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOutput:
    """A prompt and all that was drawn from it.

    prompt: its text, None if it was given as ids.
    prompt_logprobs: one for each prompt token, None for the first, if they were asked for.
    num_cached_tokens: leading prompt tokens that a prefix cache held.
    """

    request_id: str
    prompt: str | None
    prompt_tokens: list[int]
    outputs: list[SequenceOutput]
    prompt_logprobs: list[PositionLogprobs | None] | None = None
    num_cached_tokens: int = 0
