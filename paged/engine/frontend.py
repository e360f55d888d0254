"""Between users and an engine: streams of text, stop strings, log-probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from paged.engine.beam import BeamSearch
from paged.engine.detokenizer import TokenBytes
from paged.engine.engine import Engine
from paged.engine.outputs import BeamScore, OutputDelta, PositionLogprobs
from paged.engine.request_stream import (
    RequestStream,
    SequenceStream,
    end_reason,
    position_logprobs,
    sampling_of,
)
from paged.engine.search_outcome import search_outcome
from paged.engine.step_result import ModelStepResult
from paged.errors import RequestRefused
from paged.scheduler.batch import Batch, Drawn, Finished, StepResult
from paged.scheduler.request import FinishReason, Request
from paged.scheduler.scheduler import Scheduler


class Frontend:
    """Drives an engine and tells what each step added to each sequence.

    It watches the engine as an observer. The engine knows tokens and stop ids; text and
    stop strings are known here, and end a sequence from here. Not for several threads.
    """

    def __init__(self, engine: Engine, tokenizer: TokenBytes) -> None:
        self.engine = engine
        engine.observers = (*engine.observers, self)
        self._tokenizer = tokenizer
        self._streams: dict[str, RequestStream] = {}
        max_rows = engine.scheduler.allocator.tables.max_rows
        self._sequence_on: list[SequenceStream | None] = [None] * max_rows
        self._result: StepResult | None = None

    @property
    def has_work(self) -> bool:
        """Say whether a step would do anything."""
        return self.engine.has_work

    def add(self, request: Request) -> RequestStream:
        """Queue a request. Raises RequestRefused if it could never run."""
        stream = RequestStream(request, self._tokenizer)
        self.engine.add_request(request)
        self._streams[request.request_id] = stream
        return stream

    def abort(self, request_id: str) -> None:
        """Give a request up; a later step tells the end of its sequences."""
        self.engine.abort(request_id)

    def step(self) -> list[OutputDelta]:
        """Run one step and return what it added, by row, then what only ended in it."""
        self._result = None
        finished = self.engine.step()
        touched: dict[SequenceStream, None] = {}
        if self._result is not None:
            self._take_drawn(self.engine.scheduler.drawn, self._result, touched)
        for each, beam in self._outcomes(finished):
            self._take_finished(each, beam, touched)
        self._result = None
        deltas = [sequence.take() for sequence in touched]
        return [delta for delta in deltas if delta is not None]

    def on_step(
        self, *, start_s: float, batch: Batch, result: StepResult, scheduler: Scheduler
    ) -> None:
        """Learn who is on which row, and keep the result until the draws are taken."""
        self._result = result
        for admitted in batch.admitted:
            stream = self._streams.get(admitted.request.request_id)
            sequences = [] if stream is None else stream.sequences
            for row, index in zip(admitted.rows.tolist(), admitted.sequence_indices, strict=True):
                self._sequence_on[row] = sequences[index] if index < len(sequences) else None
            if stream is not None and stream.num_cached_tokens is None:
                stream.num_cached_tokens = admitted.num_cached_tokens
        if isinstance(result, ModelStepResult):
            for prompt in result.prompts:
                sequence = self._sequence_on[prompt.row]
                if sequence is not None:
                    stream = self._streams[sequence.request.request_id]
                    stream.report_prompt(prompt.first, prompt.logprobs)
            for request_id, search in result.beams.items():
                if request_id in self._streams:
                    self._streams[request_id].search = search

    def on_finished(self, finished: Finished, *, now_s: float) -> None:
        """Do nothing: `step` takes the end of a sequence after its last token."""

    def _take_drawn(
        self, drawn: Drawn, result: StepResult, touched: dict[SequenceStream, None]
    ) -> None:
        rows: list[int] = drawn.rows.tolist()
        tokens: list[int] = drawn.tokens.tolist()
        stops: list[bool] = drawn.is_stopped.tolist()
        logprobs = _logprobs_of(drawn, result)
        ends = _grammar_ends(drawn, result)
        for i, (row, token, is_stop) in enumerate(zip(rows, tokens, stops, strict=True)):
            sequence = self._sequence_on[row]
            if sequence is None or sequence.is_over or _is_search(sequence):
                continue
            touched[sequence] = None
            is_over = sequence.push(token, is_stop=is_stop, logprobs=logprobs.get(i))
            if not is_over and i in ends:
                sequence.end(ends[i])
            if sequence.is_over:
                request_id, reason = sequence.request.request_id, end_reason(ends.get(i))
                self.engine.end_sequence(request_id, sequence.index, reason)
                self._forget_if_over(self._streams[request_id])

    def _outcomes(
        self, finished: Sequence[Finished]
    ) -> Iterator[tuple[Finished, BeamScore | None]]:
        """Yield the ends that streams are waiting for, those of searches with hypotheses."""
        ends_of: dict[BeamSearch, list[Finished]] = {}
        for each in finished:
            stream = self._streams.get(each.request.request_id)
            if stream is None or stream.request is not each.request:
                continue
            if stream.search is None:
                yield each, None
            else:
                ends_of.setdefault(stream.search, []).append(each)
        for search, ends in ends_of.items():
            yield from search_outcome(search, ends)

    def _take_finished(
        self,
        finished: Finished,
        beam: BeamScore | None,
        touched: dict[SequenceStream, None],
    ) -> None:
        stream = self._streams.get(finished.request.request_id)
        if stream is None or finished.sequence_index >= len(stream.sequences):
            return
        sequence = stream.sequences[finished.sequence_index]
        if sequence.is_over:
            return
        if _is_search(sequence):
            is_stopped = finished.reason is FinishReason.STOP
            tokens: list[int] = finished.tokens[finished.request.num_prompt_tokens :].tolist()
            for place, token in enumerate(tokens, start=1):
                sequence.push(token, is_stop=is_stopped and place == len(tokens))
        sequence.finish(finished, beam)
        touched[sequence] = None
        self._forget_if_over(stream)

    def _forget_if_over(self, stream: RequestStream) -> None:
        if stream.is_over:
            del self._streams[stream.request.request_id]


def _is_search(sequence: SequenceStream) -> bool:
    """Say whether tokens may still be taken back: beams are known when the search ends."""
    return sampling_of(sequence.request).beam is not None


def _grammar_ends(drawn: Drawn, result: StepResult) -> dict[int, RequestRefused | None]:
    """Sequences that a grammar ends by index of the drawn token, but those that stopped."""
    if not isinstance(result, ModelStepResult) or not result.grammar_ends:
        return {}
    places = np.arange(len(drawn.tokens)) if drawn.places is None else drawn.places
    ends = result.grammar_ends
    return {
        i: ends[place]
        for i, (place, is_stop) in enumerate(zip(places.tolist(), drawn.is_stopped, strict=True))
        if place in ends and (ends[place] is not None or not is_stop)
    }


def _logprobs_of(drawn: Drawn, result: StepResult) -> dict[int, PositionLogprobs]:
    """Log-probabilities by index of the drawn token, for those that asked."""
    if not isinstance(result, ModelStepResult):
        return {}
    logprobs, places = result.logprobs, result.logprob_places
    if logprobs is None or places is None:
        return {}
    if drawn.places is not None:
        places = places[drawn.places]
    return {
        i: position_logprobs(logprobs, place)
        for i, place in enumerate(places.tolist())
        if place >= 0
    }
