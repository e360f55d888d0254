"""The tiny model behind an LLM, with integrity checked after every step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
import torch

from paged.engine import model_executor
from paged.engine.llm import LLM
from paged.engine.llm_config import LLMConfig
from paged.engine.loaded_model import LoadedModel, load_model
from paged.engine.sample_rows import SampleRows
from paged.engine.sampler import Sampled, sample
from paged.scheduler.batch import Batch, Finished, StepResult
from paged.scheduler.scheduler import Scheduler
from tests.helpers.released import check_released

MAX_MODEL_LEN = 96

Draw = tuple[int, int, int]
"""Seed, sequence index, output tokens before: what names a draw."""


class StepLog:
    """Observer that keeps batches."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []

    def on_step(
        self, *, start_s: float, batch: Batch, result: StepResult, scheduler: Scheduler
    ) -> None:
        self.batches.append(batch)

    def on_finished(self, finished: Finished, *, now_s: float) -> None: ...

    def count(self, name: str) -> int:
        """Count steps in which something happened: a number or moves of batches above 0."""
        values = [getattr(batch, name) for batch in self.batches]
        return sum((value if isinstance(value, int) else len(value)) > 0 for value in values)


KINDS: dict[str, dict[str, Any]] = {
    "float32": {"dtype": "float32"},
    "bfloat16": {"dtype": "bfloat16"},
    "int8": {"quantization": "int8"},
    "float8 KV": {"kv_cache_dtype": "float8_e4m3fn"},
}
"""Types of weights and of the KV pool."""


@lru_cache(maxsize=len(KINDS))
def tiny_model(kind: str = "float32") -> LoadedModel:
    """Load the tiny model, once."""
    options = {"device": "cpu", "max_model_len": MAX_MODEL_LEN} | KINDS[kind]
    return load_model(LLMConfig(model="tiny", **options))


def tiny_model_with(kind: str = "float32", **changes: Any) -> LoadedModel:
    """Return the tiny model with other fields of its configuration, and the same weights."""
    model = tiny_model(kind)
    return replace(model, config=replace(model.config, **changes))


def tiny_llm(kind: str = "float32", *, num_blocks: int = 64, **options: Any) -> LLM:
    """Make an LLM of the tiny model; it takes the fields of LLMConfig."""
    options = {"block_size": 4, "max_num_seqs": 8} | options
    config = LLMConfig(model="tiny", num_gpu_blocks_override=num_blocks, **options)
    llm = LLM.of(tiny_model(kind), config)
    check_every_step(llm)
    return llm


def check_every_step(llm: LLM) -> None:
    """Let every step of an engine end with a check of its scheduler."""
    step, scheduler = llm.engine.step, llm.engine.scheduler

    def checked() -> list[Finished]:
        finished = step()
        scheduler.check_integrity()
        return finished

    llm.engine.step = checked


def check_empty(llm: LLM) -> None:
    """Assert that nobody holds anything."""
    while llm.engine.has_work:
        assert not any(each.error for each in llm.engine.step())
    check_released(llm.engine.scheduler.allocator)


@contextmanager
def recorded_logits(patch: pytest.MonkeyPatch) -> Iterator[dict[Draw, bytes]]:
    """Yield what fills with the logits of every draw; drawing again must give the same."""
    seen: dict[Draw, bytes] = {}

    def recording(logits: torch.Tensor, rows: SampleRows) -> Sampled:
        columns = (rows.seed, rows.sequence_index, rows.draw_index)
        names = zip(*(column.tolist() for column in columns), strict=True)
        for name, row in zip(names, logits.numpy(), strict=True):
            values = np.ascontiguousarray(row).tobytes()
            assert seen.setdefault(name, values) == values, f"draw {name} differs when repeated"
        return sample(logits, rows)

    with patch.context() as context:
        context.setattr(model_executor, "sample", recording)
        yield seen
