"""What became of one request so far, as its user sees it."""

from __future__ import annotations

from paged.engine.beam import BeamSearch
from paged.engine.detokenizer import TokenBytes
from paged.engine.logprobs import Logprobs
from paged.engine.outputs import BeamScore, OutputDelta, PositionLogprobs
from paged.engine.stop_strings import StopStrings
from paged.engine.text_stream import TextStream
from paged.sampling_params import SamplingParams
from paged.scheduler.batch import Finished
from paged.scheduler.request import FinishReason, Request


class SequenceStream:
    """Tokens of one sequence in, pieces of its output out.

    is_over: its end was told; what the engine still says of it is passed over.
    """

    def __init__(self, request: Request, index: int, text: TextStream) -> None:
        self.request = request
        self.index = index
        self.is_over = False
        self._text = text
        self._piece = ""
        self._tokens: list[int] = []
        self._logprobs: list[PositionLogprobs] = []
        self._reason: FinishReason | None = None
        self._stopped_by: str | int | None = None
        self._error: BaseException | None = None
        self._beam: BeamScore | None = None

    def push(self, token: int, *, is_stop: bool, logprobs: PositionLogprobs | None = None) -> bool:
        """Take a drawn token; say whether a stop string ends the sequence with it."""
        self._tokens.append(token)
        self._piece += self._text.push(token, is_stop=is_stop)
        if logprobs is not None:
            self._logprobs.append(logprobs)
        if self._text.stop_string is None:
            return False
        self._end(FinishReason.STOP)
        return True

    def finish(self, finished: Finished, beam: BeamScore | None = None) -> None:
        """Take the end that the engine reports. beam: what a beam search gave it."""
        self._beam = beam
        self._piece += self._text.finish()
        self._error = finished.error
        self._end(finished.reason)
        params = sampling_of(self.request)
        if self._reason is FinishReason.STOP and self._stopped_by is None:
            last = int(finished.tokens[-1])
            self._stopped_by = last if last in params.stop_token_ids else None

    def end(self, error: BaseException | None) -> None:
        """End the sequence here: it is complete, or has failed."""
        self._error = error
        self._piece += self._text.finish()
        self._end(end_reason(error))

    def _end(self, reason: FinishReason) -> None:
        self.is_over = True
        self._stopped_by = self._text.stop_string
        self._reason = reason if self._stopped_by is None else FinishReason.STOP

    def take(self) -> OutputDelta | None:
        """Return what was added since the last call; None if that is nothing."""
        if not self._tokens and not self._piece and self._reason is None:
            return None
        params = sampling_of(self.request)
        delta = OutputDelta(
            request_id=self.request.request_id,
            sequence_index=self.index,
            text=self._piece,
            tokens=tuple(self._tokens),
            logprobs=None if params.logprobs is None else tuple(self._logprobs),
            reason=self._reason,
            stopped_by=self._stopped_by,
            error=self._error,
            beam=self._beam,
        )
        self._piece, self._reason = "", None
        self._tokens.clear()
        self._logprobs.clear()
        return delta


class RequestStream:
    """Streams of the sequences that a user gets, and what is known of the prompt.

    A beam search has more sequences than that; its best come first.

    prompt_logprobs: one for each prompt token, None for the first and for those to come;
        None if nobody asked.
    num_cached_tokens: leading tokens of the prompt that were cached when it was admitted.
    search: the beam search that it is, from its first step on.
    """

    def __init__(self, request: Request, tokenizer: TokenBytes) -> None:
        self.request = request
        params = sampling_of(request)
        stops = StopStrings(params.stop_strings)
        self.sequences = [
            SequenceStream(request, index, TextStream(tokenizer, params, stops))
            for index in range(params.n)
        ]
        self.prompt_logprobs: list[PositionLogprobs | None] | None = None
        if params.prompt_logprobs is not None:
            self.prompt_logprobs = [None for _ in range(request.num_prompt_tokens)]
        self.num_cached_tokens: int | None = None
        self.search: BeamSearch | None = None

    @property
    def is_over(self) -> bool:
        """Say whether every sequence has ended."""
        return all(sequence.is_over for sequence in self.sequences)

    def report_prompt(self, first: int, logprobs: Logprobs) -> None:
        """Take log-probabilities of prompt tokens first, first + 1, ..."""
        if self.prompt_logprobs is not None:
            for place in range(len(logprobs)):
                self.prompt_logprobs[first + place] = position_logprobs(logprobs, place)


def end_reason(error: BaseException | None) -> FinishReason:
    """Return why a sequence is over that its frontend ends."""
    return FinishReason.STOP if error is None else FinishReason.ERROR


def position_logprobs(logprobs: Logprobs, place: int) -> PositionLogprobs:
    """Return one place of several."""
    return PositionLogprobs(token=logprobs.chosen(place), top=tuple(logprobs.top(place)))


def sampling_of(request: Request) -> SamplingParams:
    """Return how a request's output is drawn. Every request of a frontend says so."""
    if request.sampling is None:
        raise TypeError(f"request {request.request_id} has no sampling parameters")
    return request.sampling
