"""The executor of simulations: known lengths instead of a model, modelled time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from paged.engine.step_time import StepTime
from paged.errors import ConfigError
from paged.scheduler.batch import Admitted, Batch, StepResult
from paged.scheduler.request import Request
from paged.types import IndexArray, TokenArray

OutputTokens = Callable[[Request], TokenArray | None]
"""Gives the output token ids of a request, or None where only its length is known."""


def _lengths_only(_request: Request) -> TokenArray | None:
    return None


class SimulatedExecutor:
    """Draws what a trace says was drawn and takes as long as a model says.

    Every sequence of a request stops after `request.final_new_tokens` tokens, or at its
    output limit where that is None. Tokens are 0 unless `output_tokens` knows better.
    Rows are learnt from `batch.admitted`, so one executor serves one scheduler.
    """

    def __init__(
        self,
        step_time: StepTime,
        max_rows: int,
        *,
        output_tokens: OutputTokens = _lengths_only,
    ) -> None:
        self._step_time = step_time
        self._output_tokens = output_tokens
        self._num_prompt_tokens: IndexArray = np.zeros(max_rows, np.int64)
        self._stop_at: IndexArray = np.zeros(max_rows, np.int64)
        # known[row, i] is output token i of the row; as wide as the longest output seen.
        self._known: TokenArray = np.zeros((max_rows, 0), np.int32)

    def execute(self, batch: Batch) -> StepResult:
        """Draw the known tokens of one step. O(sequences), in numpy.

        Raises ConfigError if a request admitted in this step knows fewer output tokens
        than it is to draw.
        """
        for admitted in batch.admitted:
            self._learn(admitted)
        num_tokens = batch.num_computed + batch.num_scheduled
        rows = batch.rows
        if np.count_nonzero(batch.num_samples == 1) < len(rows):
            num_tokens = np.repeat(num_tokens, batch.num_samples)
            rows = np.repeat(rows, batch.num_samples)
        return StepResult(
            tokens=self._draw(rows, num_tokens),
            is_stopped=num_tokens + 1 >= self._stop_at[rows],
            duration_s=self._step_time.duration_s(batch),
        )

    def _draw(self, rows: IndexArray, num_tokens: IndexArray) -> TokenArray:
        if self._known.shape[1] == 0:
            return np.zeros(len(rows), np.int32)
        return self._known[rows, num_tokens - self._num_prompt_tokens[rows]]

    def _learn(self, admitted: Admitted) -> None:
        request = admitted.request
        num_new_tokens = request.final_new_tokens
        if num_new_tokens is None:
            num_new_tokens = request.max_new_tokens
        known = self._output_tokens(request)
        if known is not None and len(known) < num_new_tokens:
            raise ConfigError(
                f"request {request.request_id}: expected {num_new_tokens} known output"
                f" tokens, got {len(known)}; give all of them or None"
            )
        self._num_prompt_tokens[admitted.rows] = request.num_prompt_tokens
        self._stop_at[admitted.rows] = request.num_prompt_tokens + num_new_tokens
        if known is not None:
            self._widen(num_new_tokens)
            self._known[admitted.rows, :num_new_tokens] = known[:num_new_tokens]
        elif self._known.shape[1]:
            self._known[admitted.rows] = 0

    def _widen(self, num_new_tokens: int) -> None:
        """Make room for outputs of num_new_tokens tokens."""
        missing = num_new_tokens - self._known.shape[1]
        if missing > 0:
            self._known = np.pad(self._known, ((0, 0), (0, missing)))
