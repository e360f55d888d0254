"""Sampling parameters of the running batch, kept by row and updated as rows are given out."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from paged.engine.sample_rows import Entries, FloatArray, History, SampleRows
from paged.sampling_params import SamplingParams
from paged.types import BoolArray, IndexArray, TokenArray

# Larger than any vocabulary.
_ALL_TOKENS = 2**31 - 1
# Fills up rows that have fewer stop ids than others.
_NO_TOKEN = -1


class SamplingTable:
    """Structure of arrays over the rows of a scheduler."""

    def __init__(self, max_rows: int) -> None:
        self._temperature: FloatArray = np.zeros(max_rows)
        self._top_p: FloatArray = np.zeros(max_rows)
        self._min_p: FloatArray = np.zeros(max_rows)
        self._presence: FloatArray = np.zeros(max_rows)
        self._frequency: FloatArray = np.zeros(max_rows)
        self._repetition: FloatArray = np.zeros(max_rows)
        self._top_k: IndexArray = np.zeros(max_rows, np.int64)
        self._seed: IndexArray = np.zeros(max_rows, np.int64)
        self._sequence_index: IndexArray = np.zeros(max_rows, np.int64)
        self._num_prompt_tokens: IndexArray = np.zeros(max_rows, np.int64)
        self._min_tokens: IndexArray = np.zeros(max_rows, np.int64)
        self._num_logprobs: IndexArray = np.zeros(max_rows, np.int64)
        self._wants_logprobs: BoolArray = np.zeros(max_rows, np.bool_)
        self._has_penalties: BoolArray = np.zeros(max_rows, np.bool_)
        self._has_bias: BoolArray = np.zeros(max_rows, np.bool_)
        self._bias_of: dict[int, tuple[IndexArray, FloatArray]] = {}
        self._stop_ids: IndexArray = np.zeros((max_rows, 0), np.int64)

    def admit(
        self,
        rows: IndexArray,
        sequence_indices: Iterable[int],
        params: SamplingParams,
        *,
        seed: int,
        num_prompt_tokens: int,
        eos_ids: Iterable[int],
    ) -> None:
        """Let rows carry sequences of one request.

        seed: that of params, or the one the engine chose. eos_ids: the model's own.
        """
        self._sequence_index[rows] = list(sequence_indices)
        self._seed[rows] = seed
        self._num_prompt_tokens[rows] = num_prompt_tokens
        # What is drawn for the beams of a search is not used: let it be cheap.
        is_greedy = params.is_greedy or params.beam is not None
        self._temperature[rows] = 0.0 if is_greedy else params.temperature
        self._top_k[rows] = _ALL_TOKENS if params.top_k is None else params.top_k
        self._top_p[rows] = params.top_p
        self._min_p[rows] = params.min_p
        self._presence[rows] = params.presence_penalty
        self._frequency[rows] = params.frequency_penalty
        self._repetition[rows] = params.repetition_penalty
        self._has_penalties[rows] = params.has_penalties
        self._min_tokens[rows] = min(params.min_tokens, _ALL_TOKENS)
        self._wants_logprobs[rows] = params.logprobs is not None
        self._num_logprobs[rows] = params.logprobs or 0
        self._set_bias(rows, params)
        self._set_stop_ids(rows, [*params.stop_token_ids, *(() if params.ignore_eos else eos_ids)])

    def _set_bias(self, rows: IndexArray, params: SamplingParams) -> None:
        self._has_bias[rows] = bool(params.logit_bias)
        if params.logit_bias:
            tokens = np.array(list(params.logit_bias), np.int64)
            values = np.array(list(params.logit_bias.values()), np.float64)
            self._bias_of.update(dict.fromkeys(rows.tolist(), (tokens, values)))

    def _set_stop_ids(self, rows: IndexArray, ids: Iterable[int]) -> None:
        ids = list(dict.fromkeys(ids))
        missing = len(ids) - self._stop_ids.shape[1]
        if missing > 0:
            self._stop_ids = np.pad(
                self._stop_ids, ((0, 0), (0, missing)), constant_values=_NO_TOKEN
            )
        self._stop_ids[rows] = _NO_TOKEN
        self._stop_ids[rows, : len(ids)] = ids

    def is_stopped(self, rows: IndexArray, tokens: TokenArray) -> BoolArray:
        """Say which of the tokens drawn for rows end their sequences."""
        return (self._stop_ids[rows] == tokens[:, None]).any(axis=1)

    def select(
        self,
        rows: IndexArray,
        *,
        tokens: TokenArray,
        token_rows: IndexArray,
        num_tokens: IndexArray,
    ) -> SampleRows:
        """Gather what the draws of a step need.

        Shapes: rows[R], token_rows[R], num_tokens[R]; tokens[any, width]. Draw i is for the
        sequence on rows[i], whose known tokens are tokens[token_rows[i], : num_tokens[i]].
        The two rows differ where a group draws from the prompt that its sequences share.
        """
        draw_index = num_tokens - self._num_prompt_tokens[rows]
        logprob_rows = np.flatnonzero(self._wants_logprobs[rows])
        return SampleRows(
            temperature=self._temperature[rows],
            top_k=self._top_k[rows],
            top_p=self._top_p[rows],
            min_p=self._min_p[rows],
            seed=self._seed[rows],
            sequence_index=self._sequence_index[rows],
            draw_index=draw_index,
            logprob_rows=logprob_rows,
            num_logprobs=self._num_logprobs[rows[logprob_rows]],
            biases=self._biases(rows),
            banned=self._banned(rows, draw_index),
            history=self._history(rows, tokens, token_rows, num_tokens),
        )

    def _biases(self, rows: IndexArray) -> Entries | None:
        draws = np.flatnonzero(self._has_bias[rows])
        if not len(draws):
            return None
        biases = [self._bias_of[row] for row in rows[draws].tolist()]
        return Entries(
            rows=np.repeat(draws, [len(tokens) for tokens, _ in biases]),
            tokens=np.concatenate([tokens for tokens, _ in biases]),
            values=np.concatenate([values for _, values in biases]),
        )

    def _banned(self, rows: IndexArray, draw_index: IndexArray) -> Entries | None:
        """Stop ids of the sequences that may not end yet."""
        draws = np.flatnonzero(draw_index < self._min_tokens[rows])
        if not len(draws):
            return None
        ids = self._stop_ids[rows[draws]]
        which, place = np.nonzero(ids != _NO_TOKEN)
        banned = ids[which, place]
        return Entries(rows=draws[which], tokens=banned, values=np.full(len(banned), -np.inf))

    def _history(
        self,
        rows: IndexArray,
        tokens: TokenArray,
        token_rows: IndexArray,
        num_tokens: IndexArray,
    ) -> History | None:
        draws = np.flatnonzero(self._has_penalties[rows])
        if not len(draws):
            return None
        rows = rows[draws]
        return History(
            rows=draws,
            tokens=tokens,
            token_rows=token_rows[draws],
            num_prompt_tokens=self._num_prompt_tokens[rows],
            num_tokens=num_tokens[draws],
            presence=self._presence[rows],
            frequency=self._frequency[rows],
            repetition=self._repetition[rows],
        )
