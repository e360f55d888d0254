"""Beam search of one request: which beams go on, which hypotheses are complete, when it ends.

The rules are those of transformers' `generate(num_beams=...)`, and the outcome is the same.
Beams live on rows of the scheduler: beam i is on row i of its group, and a step says
from which row each goes on. A row whose own beam goes on keeps it, so that only beams that
share a parent move.

Source: `_beam_search` of huggingface/transformers, read for its rules.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from paged.engine.logprobs import check_best, normalizers, top_ids
from paged.errors import ConfigError
from paged.sampling_params import BeamParams
from paged.types import IndexArray, TokenArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hypothesis:
    """One possible output.

    tokens: the output, a stop token included. logprob: the sum over its tokens.
    score: logprob / length ** length_penalty. is_stopped: it ends with a stop token.
    """

    tokens: TokenArray
    logprob: float
    score: float
    is_stopped: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BeamStep:
    """What became of the beams in one step.

    parents[width]: the row that row i goes on from, as a place in the group; a row that any
        goes on from goes on from itself. tokens[width]: the token added to it.
    is_over: the search has ended; the rows are no longer needed.
    """

    parents: IndexArray
    tokens: TokenArray
    is_over: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Candidates:
    """Continuations, best first: beam they continue, token, sum of log-probabilities."""

    parents: IndexArray
    tokens: IndexArray
    logprobs: npt.NDArray[np.float32]


class BeamSearch:
    """State of one search.

    max_new_tokens: output length at which a beam is complete.
    stop_ids: tokens that complete a hypothesis, but not among the first min_tokens.
    Raises ConfigError if the vocabulary has too few tokens for so many beams.
    """

    def __init__(
        self,
        params: BeamParams,
        *,
        vocab_size: int,
        max_new_tokens: int,
        stop_ids: Set[int],
        min_tokens: int = 0,
    ) -> None:
        stops = [token for token in sorted(stop_ids) if token < vocab_size]
        if vocab_size - len(stops) < params.width:
            raise ConfigError(
                f"beam.width: expected at most {vocab_size - len(stops)}, the tokens of the"
                f" vocabulary that stop nothing, got {params.width}"
            )
        self._params = params
        self._max_new_tokens = max_new_tokens
        self._min_tokens = min_tokens
        self._stop_ids: IndexArray = np.array(stops, np.int64)
        self._begin()

    def _begin(self) -> None:
        # Running beams have not been told apart before the first step: there is one.
        self._logprobs = np.zeros(1, np.float32)
        self._finished: list[Hypothesis] = []
        self._can_improve = True

    def advance(self, logits: torch.Tensor, outputs: Sequence[TokenArray]) -> BeamStep:
        """Take one step.

        Shapes: logits[B, vocabulary] float32 of the rows of the group, in order; B is 1 in
        the first step and the width later. outputs[B]: their output tokens so far; none
        begins the search, again if a step was lost.
        Raises: BadLogits if a row has no finite best token.
        """
        width, length = self._params.width, len(outputs[0]) + 1
        if length == 1:
            self._begin()
        found = self._candidates(logits, is_early=length <= self._min_tokens)
        is_stop = np.isin(found.tokens, self._stop_ids)
        is_complete = is_stop | (length >= self._max_new_tokens)
        for i in np.flatnonzero(is_complete[:width]).tolist():
            parent: int = found.parents.item(i)
            tokens = np.append(outputs[parent], found.tokens[i]).astype(np.int32)
            self._complete(self._hypothesis(tokens, found.logprobs[i], bool(is_stop[i])))
        running = np.flatnonzero(~is_complete)[:width]
        if not len(running):
            return _over(width)
        self._update_outlook(float(found.logprobs[running[0]]), length)
        if self._is_over:
            return _over(width)
        return self._go_on(found, running)

    def finish(self, outputs: Sequence[TokenArray]) -> list[Hypothesis]:
        """End the search where it is and return the best hypotheses, best first.

        outputs: those of the running beams, by row, if the search was cut short; they fill
        what complete hypotheses leave of the width.
        """
        running = [
            self._hypothesis(tokens, logprob, is_stopped=False)
            for tokens, logprob in zip(outputs, self._logprobs, strict=False)
            if len(tokens)
        ]
        running.sort(key=lambda each: -each.score)
        return [*self._finished, *running][: self._params.width]

    @property
    def hypotheses(self) -> list[Hypothesis]:
        """Complete hypotheses so far, best first; at most as many as the width."""
        return list(self._finished)

    @property
    def _is_full(self) -> bool:
        return len(self._finished) == self._params.width

    @property
    def _is_over(self) -> bool:
        return not self._can_improve or (self._is_full and self._params.early_stopping is True)

    def _candidates(self, logits: torch.Tensor, *, is_early: bool) -> _Candidates:
        """Find the best continuations of all beams: enough to go on if the best complete."""
        check_best(logits.amax(1))
        relative, log_sums = normalizers(logits)
        logprobs = relative - log_sums
        if is_early and len(self._stop_ids):
            logprobs[:, torch.as_tensor(self._stop_ids, device=logits.device)] = -torch.inf
        logprobs += torch.as_tensor(self._logprobs, device=logits.device)[:, None]
        count = max(2, 1 + len(self._stop_ids)) * self._params.width
        flat = logprobs.reshape(1, -1)
        best = top_ids(flat, min(count, flat.shape[1]))
        values = flat.gather(1, best)[0].cpu().numpy()
        parents, tokens = np.divmod(best[0].cpu().numpy(), logits.shape[1])
        is_possible = values > -np.inf
        return _Candidates(parents[is_possible], tokens[is_possible], values[is_possible])

    def _score(self, logprob: np.float32, length: int) -> float:
        # In float32, as transformers: hypotheses as good as equal then come in its order.
        return float(np.float32(logprob) / np.float32(length**self._params.length_penalty))

    def _hypothesis(self, tokens: TokenArray, logprob: np.float32, is_stopped: bool) -> Hypothesis:
        return Hypothesis(
            tokens=tokens,
            logprob=float(logprob),
            score=self._score(logprob, len(tokens)),
            is_stopped=is_stopped,
        )

    def _complete(self, hypothesis: Hypothesis) -> None:
        """Keep a complete hypothesis if it is among the best; of equals the earlier."""
        self._finished.append(hypothesis)
        self._finished.sort(key=lambda each: -each.score)
        del self._finished[self._params.width :]

    def _update_outlook(self, best_logprob: float, length: int) -> None:
        """Say whether a running beam could still beat the worst complete hypothesis."""
        params = self._params
        if params.early_stopping == "never" and params.length_penalty > 0.0:
            length = self._max_new_tokens
        if self._is_full:
            best = self._score(np.float32(best_logprob), length)
            self._can_improve = self._can_improve and best > self._finished[-1].score

    def _go_on(self, found: _Candidates, running: IndexArray) -> BeamStep:
        """Lay the running beams on rows, each parent's first on the row of the parent."""
        width = self._params.width
        parents = found.parents[running]
        _, firsts = np.unique(parents, return_index=True)
        chosen = np.full(width, len(running))
        chosen[parents[firsts]] = firsts
        is_free = chosen == len(running)
        chosen[is_free] = np.setdiff1d(np.arange(width), firsts)
        order = running[chosen]
        self._logprobs = found.logprobs[order]
        return BeamStep(
            parents=found.parents[order], tokens=found.tokens[order].astype(np.int32), is_over=False
        )


def _over(width: int) -> BeamStep:
    return BeamStep(parents=np.arange(width), tokens=np.zeros(width, np.int32), is_over=True)
