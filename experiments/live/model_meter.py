"""Time inside the model, and the tokens it was given: measured at its very call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from model_zoo.batch import ModelBatch
from paged.engine.model_executor import ModelExecutor


class ModelMeter:
    """Stands where an executor calls its model, and remembers the latest call.

    For a CPU: a GPU would still be computing when the call returns.

    model_s: seconds that the latest call took. num_given_tokens: tokens that its tensors
    held, padding included.
    """

    def __init__(self, forward: Callable[..., Any]) -> None:
        self._forward = forward
        self.model_s = 0.0
        self.num_given_tokens = 0

    def __call__(self, params: Any, config: Any, pools: Any, batch: ModelBatch) -> Any:
        """Call the model."""
        begin_s = perf_counter()
        logits = self._forward(params, config, pools, batch)
        self.model_s = perf_counter() - begin_s
        self.num_given_tokens = len(batch.tokens)
        return logits


@contextmanager
def metered(executor: ModelExecutor) -> Iterator[ModelMeter]:
    """Yield a meter that stands before the executor's model inside the block."""
    forward = executor.forward
    meter = ModelMeter(forward)
    executor.forward = meter
    try:
        yield meter
    finally:
        executor.forward = forward
