"""Beam searches on the toy model: every beam's next token depends on what all have stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from paged.config import CacheConfig, SchedulerConfig
from paged.sampling_params import BeamParams, SamplingParams
from paged.scheduler.batch import Batch, EndedSearch, Finished, StepResult
from paged.scheduler.request import FinishReason, Request
from tests.helpers.toy_engine import PLAIN_LANGUAGE, ToyEngine
from tests.helpers.toy_model import Language, ToyExecutor, ToyPool, values_of

_MODULUS = (1 << 31) - 1
_STOP_EVERY = 31


def beam_params(width: int) -> SamplingParams:
    """Parameters that make a request a search."""
    return SamplingParams(beam=BeamParams(width=width))


def toy_step(values: Sequence[int]) -> tuple[list[int], list[int], bool]:
    """Parents and tokens of the next beams, laid out in place, and whether the search ends."""
    width = len(values)
    mixed = reduce(lambda sum_, value: (sum_ * 31_337 + value) % _MODULUS, values, 5)
    chosen = sorted((mixed >> 3 * place) % width for place in range(width))
    parents = [-1] * width
    rest = []
    for parent in chosen:
        if parents[parent] < 0:
            parents[parent] = parent
        else:
            rest.append(parent)
    parents = [rest.pop() if parent < 0 else parent for parent in parents]
    tokens = [mixed % 499 * width + place for place in range(width)]
    return parents, tokens, mixed % _STOP_EVERY == 0


def toy_search(request: Request, max_model_len: int) -> tuple[list[list[list[int]]], bool]:
    """Beams of an undisturbed search after each step, and whether it ends by itself."""
    beams = [request.prompt_tokens.tolist()] * request.num_sequences
    limit = min(len(beams[0]) + request.max_new_tokens, max_model_len)
    history = [beams]
    while True:
        parents, tokens, is_over = toy_step([values_of(beam)[-1] for beam in beams])
        beams = [[*beams[parent], token] for parent, token in zip(parents, tokens, strict=True)]
        history.append(beams)
        if is_over or len(beams[0]) >= limit:
            return history, is_over


class SearchExecutor(ToyExecutor):
    """Draws for searches as `toy_step` says, from what their rows have stored."""

    def __init__(self, pool: ToyPool, language: Language, max_model_len: int) -> None:
        super().__init__(pool, language)
        self._max_model_len = max_model_len
        self._search_on: dict[int, tuple[Request, list[int]]] = {}

    def execute(self, batch: Batch) -> StepResult:
        """Draw as any executor, then replace the draws of searches."""
        result = super().execute(batch)
        for admitted in batch.admitted:
            rows = admitted.rows.tolist()
            self._search_on = {
                lead: search
                for lead, search in self._search_on.items()
                if not set(rows) & set(search[1])
            }
            if admitted.request.sampling is not None:
                self._search_on[rows[0]] = (admitted.request, rows)
        tokens, parents, ended = result.tokens.copy(), np.zeros(len(result.tokens), np.int64), []
        is_stopped = result.is_stopped.copy()
        starts = np.cumsum(batch.num_samples) - batch.num_samples
        lengths = dict(zip(batch.rows.tolist(), batch.seq_lens.tolist(), strict=True))
        first = {
            row: start
            for row, start, count in zip(
                batch.rows.tolist(), starts.tolist(), batch.num_samples.tolist(), strict=True
            )
            if count
        }
        for lead, (request, rows) in self._search_on.items():
            if lead not in first:
                assert not set(rows) & set(first), "some rows of a search drew"
                continue
            part = slice(first[lead], first[lead] + len(rows))
            is_first = lengths[lead] == request.num_prompt_tokens
            holders = [lead] * len(rows) if is_first else rows
            texts = [batch.tokens[row, : lengths[row]].tolist() for row in holders]
            tables = batch.tables.ids
            values = [self.pool.read(tables[row], lengths[row])[-1] for row in holders]
            come_from, tokens[part], is_over = toy_step(values)
            parents[part] = np.arange(len(rows)) if is_first else come_from
            limit = min(request.num_prompt_tokens + request.max_new_tokens, self._max_model_len)
            if is_over or lengths[lead] + 1 >= limit:
                outputs = [
                    np.array([*texts[parent][request.num_prompt_tokens :], token], np.int32)
                    for parent, token in zip(come_from, tokens[part].tolist(), strict=True)
                ]
                reason = FinishReason.STOP if is_over else FinishReason.LENGTH
                ended.append(
                    EndedSearch(
                        request_id=request.request_id,
                        outputs=tuple(outputs),
                        reasons=(reason,) * len(rows),
                    )
                )
                is_stopped[part] = True
        return replace(
            result, tokens=tokens, is_stopped=is_stopped, parents=parents, searches=tuple(ended)
        )


class SearchEngine(ToyEngine):
    """A toy engine that knows what searches come to."""

    def __init__(self, cache: CacheConfig, scheduler: SchedulerConfig) -> None:
        super().__init__(cache, scheduler, PLAIN_LANGUAGE)
        self.executor = SearchExecutor(self.pool, self.language, cache.max_model_len)
        self.engine.executor = self.executor

    def expected(self, request: Request, sequence_index: int) -> tuple[list[int], bool]:
        """Say what a sequence or a beam comes to when nothing disturbs it."""
        if request.sampling is None:
            return super().expected(request, sequence_index)
        history, is_over = toy_search(request, self.cache.max_model_len)
        return history[-1][sequence_index], is_over

    def _ended_at_pool_limit(self, sequence: Finished) -> bool:
        if sequence.request.sampling is None or sequence.reason is FinishReason.STOP:
            return super()._ended_at_pool_limit(sequence)
        history, _ = toy_search(sequence.request, self.cache.max_model_len)
        num_new = sequence.num_new_tokens
        assert sequence.tokens.tolist() == history[num_new][sequence.sequence_index]
        return sequence.reason is FinishReason.LENGTH and num_new < len(history) - 1
