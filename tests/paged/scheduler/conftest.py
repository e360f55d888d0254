"""Small schedulers, and steps whose draws a test decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from paged.allocator.registry import make_allocator
from paged.config import CacheConfig, SchedulerConfig
from paged.scheduler.batch import Batch, Finished, StepResult
from paged.scheduler.request import Request
from paged.scheduler.scheduler import Scheduler
from tests.helpers.toy_engine import ToyEngine, make_toy_engine


@pytest.fixture
def make_engine() -> Callable[..., ToyEngine]:
    """Return a factory of engines with a checked toy model."""
    return make_toy_engine


@pytest.fixture
def make_request() -> Callable[..., Request]:
    """Return a factory of requests whose prompt repeats one token."""

    def make(name: str, num_tokens: int = 4, num_new: int = 8, **others: Any) -> Request:
        return Request(
            request_id=name,
            prompt_tokens=np.full(num_tokens, ord(name[0]), np.int32),
            max_new_tokens=num_new,
            **others,
        )

    return make


@pytest.fixture
def make_scheduler() -> Callable[..., Scheduler]:
    """Return a factory of schedulers; it takes the fields of both configurations."""
    defaults = {
        **{"num_blocks": 16, "block_size": 4, "max_model_len": 32, "watermark": 0.0},
        **{"max_num_seqs": 4, "max_num_batched_tokens": None},
    }

    def make(**values: Any) -> Scheduler:
        values = defaults | values
        names = {field.name for field in fields(CacheConfig)}
        cache = CacheConfig(**{name: values[name] for name in values if name in names})
        config = SchedulerConfig(**{name: values[name] for name in values if name not in names})
        allocator = make_allocator(cache, max_rows=config.max_num_seqs)
        return Scheduler(config, allocator, max_model_len=cache.max_model_len)

    return make


@pytest.fixture
def finish() -> Callable[..., list[Finished]]:
    """Return a function that ends a step: token 9 for each draw, or the tokens given."""

    def run(
        scheduler: Scheduler,
        batch: Batch,
        tokens: list[int] | None = None,
        is_stopped: list[bool] | None = None,
    ) -> list[Finished]:
        count = int(batch.num_samples.sum())
        result = StepResult(
            tokens=np.array([9] * count if tokens is None else tokens, np.int32),
            is_stopped=np.array([False] * count if is_stopped is None else is_stopped, np.bool_),
            duration_s=1.0,
        )
        finished = scheduler.update(batch, result)
        scheduler.check_integrity()
        return finished

    return run


@pytest.fixture
def step(finish: Callable[..., list[Finished]]) -> Callable[..., Batch]:
    """Return a function that runs one whole step and says what was planned."""

    def run(scheduler: Scheduler, **others: Any) -> Batch:
        batch = scheduler.schedule()
        finish(scheduler, batch, **others)
        return batch

    return run
