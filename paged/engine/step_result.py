"""What a model makes of a step, beyond the tokens that a scheduler needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from paged.engine.beam import BeamSearch
from paged.engine.logprobs import Logprobs
from paged.errors import RequestRefused
from paged.scheduler.batch import StepResult
from paged.types import IndexArray

GrammarEnds = Mapping[int, RequestRefused | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptLogprobs:
    """Log-probabilities of some prompt tokens of one row: positions first, first + 1, ..."""

    row: int
    first: int
    logprobs: Logprobs


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStepResult(StepResult):
    """A step's result with log-probabilities.

    logprob_places[draws]: index of each draw in logprobs, -1 where nobody asked; None
        where nobody asked at all.
    prompts: what was computed of prompts, for those who asked.
    beams: beam searches that took part, by request id, those that go on too.
    grammar_ends: by index of the draw, outputs that a grammar ends: None where it is complete,
        and otherwise why it cannot go on.
    model_s: seconds in the model's call; a GPU may still be computing when it returns.
    num_given_tokens: tokens that it was given, padding included.
    """

    logprobs: Logprobs | None = None
    logprob_places: IndexArray | None = None
    prompts: tuple[PromptLogprobs, ...] = ()
    beams: Mapping[str, BeamSearch] = field(default_factory=dict[str, BeamSearch])
    grammar_ends: GrammarEnds = field(default_factory=dict[int, RequestRefused | None])
    model_s: float = 0.0
    num_given_tokens: int = 0


def places_of(chosen: IndexArray, count: int) -> IndexArray:
    """Index of each number below count in `chosen`, -1 for those that are not in it."""
    places = np.full(count, -1, np.int64)
    places[chosen] = np.arange(len(chosen))
    return places
