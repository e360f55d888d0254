"""The beam searches of a running batch: who is on which rows, and what a step makes of them."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace

import numpy as np
import torch

from paged.engine.beam import BeamSearch, BeamStep
from paged.engine.step_draws import StepDraws
from paged.engine.step_result import ModelStepResult
from paged.errors import check
from paged.scheduler.batch import Admitted, Batch, EndedSearch, Finished, StepResult
from paged.scheduler.request import FinishReason, Request
from paged.scheduler.scheduler import Scheduler
from paged.types import BoolArray, IndexArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SearchStep:
    """What one search made of a step.

    request_id, search: which one it is. draws[width]: the draws it took, one for each of its
    rows. beams: what they came to. ended: its outcome, once it is over.
    """

    request_id: str
    search: BeamSearch
    draws: IndexArray
    beams: BeamStep
    ended: EndedSearch | None


@dataclass(slots=True, eq=False)
class _Running:
    request: Request
    search: BeamSearch
    num_rows: int


class BeamSearches:
    """Keeps each search from its first admission to its end, through preemptions.

    Add it to the observers of the engine: it forgets a search when its request ends.
    """

    def __init__(self, max_rows: int, *, vocab_size: int, max_model_len: int) -> None:
        self._vocab_size = vocab_size
        self._max_model_len = max_model_len
        self._running: dict[str, _Running] = {}
        self._id_on: list[str] = [""] * max_rows
        self._is_search: BoolArray = np.zeros(max_rows, np.bool_)

    def admit(self, admitted: Admitted, eos_ids: Set[int]) -> None:
        """Learn who is on rows, for the first time or again. eos_ids: the model's own."""
        request, params = admitted.request, admitted.request.sampling
        is_search = params is not None and params.beam is not None
        self._is_search[admitted.rows] = is_search
        if params is None or params.beam is None:
            return
        for row in admitted.rows.tolist():
            self._id_on[row] = request.request_id
        known = self._running.get(request.request_id)
        if known is not None and known.request is request:
            return
        room_tokens = self._max_model_len - request.num_prompt_tokens
        search = BeamSearch(
            params.beam,
            vocab_size=self._vocab_size,
            max_new_tokens=min(request.max_new_tokens, room_tokens),
            stop_ids={*params.stop_token_ids, *(() if params.ignore_eos else eos_ids)},
            min_tokens=params.min_tokens,
        )
        self._running[request.request_id] = _Running(request, search, len(admitted.rows))

    def advance(self, logits: torch.Tensor, draws: StepDraws, batch: Batch) -> list[SearchStep]:
        """Take a step of each search that draws. logits[draws, vocabulary] float32.

        Raises: BadLogits.
        """
        steps: list[SearchStep] = []
        places = self._is_search[draws.rows].nonzero()[0]
        while len(places):
            running = self._running[self._id_on[int(draws.rows[places[0]])]]
            part, places = np.split(places, [running.num_rows])
            steps.append(_advance(running, logits, draws, batch, part))
        return steps

    def on_step(
        self, *, start_s: float, batch: Batch, result: StepResult, scheduler: Scheduler
    ) -> None:
        """Do nothing: the executor sees each step itself."""

    def on_finished(self, finished: Finished, *, now_s: float) -> None:
        """Forget the search of a request that has ended, for whatever reason."""
        request = finished.request
        known = self._running.get(request.request_id)
        if known is not None and known.request is request:
            del self._running[request.request_id]


def _advance(
    running: _Running,
    logits: torch.Tensor,
    draws: StepDraws,
    batch: Batch,
    places: IndexArray,
) -> SearchStep:
    num_prompt_tokens, num_tokens = running.request.num_prompt_tokens, draws.num_tokens[places[0]]
    is_first = num_tokens == num_prompt_tokens
    # Before its first step a search is one sequence, however many rows it has.
    alive = places[:1] if is_first else places
    outputs = batch.tokens[draws.token_rows[alive], num_prompt_tokens:num_tokens]
    first, end = int(alive[0]), int(alive[-1]) + 1
    beams = running.search.advance(logits[first:end], list(outputs))
    if is_first:
        # All rows hold the prompt already.
        own = np.arange(running.num_rows)
        beams = BeamStep(parents=own, tokens=beams.tokens, is_over=beams.is_over)
    return SearchStep(
        request_id=running.request.request_id,
        search=running.search,
        draws=places,
        beams=beams,
        ended=_ended(running) if beams.is_over else None,
    )


def _ended(running: _Running) -> EndedSearch:
    found = running.search.finish([])
    check(len(found) == running.num_rows, "a search ended before it had a full list")
    return EndedSearch(
        request_id=running.request.request_id,
        outputs=tuple(each.tokens for each in found),
        reasons=tuple(
            FinishReason.STOP if each.is_stopped else FinishReason.LENGTH for each in found
        ),
    )


def with_searches(result: ModelStepResult, steps: list[SearchStep]) -> ModelStepResult:
    """Put what searches came to in place of what was drawn for their rows."""
    tokens, is_stopped = result.tokens.copy(), result.is_stopped.copy()
    parents = np.zeros(len(tokens), np.int64)
    for step in steps:
        tokens[step.draws] = step.beams.tokens
        is_stopped[step.draws] = step.beams.is_over
        parents[step.draws] = step.beams.parents
    ended = tuple(step.ended for step in steps if step.ended is not None)
    return replace(
        result,
        tokens=tokens,
        is_stopped=is_stopped,
        parents=parents,
        searches=ended,
        beams={step.request_id: step.search for step in steps},
    )
