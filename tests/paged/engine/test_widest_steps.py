"""The steps that the memory of a GPU is measured by."""

from __future__ import annotations

import gc
from typing import Any
from weakref import ref

import pytest
import torch

from model_zoo import transformer
from model_zoo.batch import ModelBatch
from paged.config import CacheConfig
from paged.engine import model_engine
from paged.engine.llm_config import LLMConfig
from paged.engine.model_executor import ModelExecutor
from paged.engine.pool_size import WidestSteps
from paged.engine.widest_steps import widest_steps
from paged.scheduler.batch import Batch
from tests.helpers.fake_graphs import FakeCapture
from tests.helpers.tiny_llm import MAX_MODEL_LEN, tiny_model


def _steps(patch: pytest.MonkeyPatch, **options: Any) -> tuple[WidestSteps, ModelExecutor]:
    made: list[ModelExecutor] = []
    config = LLMConfig(model="tiny", **options)
    patch.setattr(model_engine, "find_capture", lambda _: FakeCapture())

    def make(cache: CacheConfig) -> ModelExecutor:
        made.append(model_engine.make_executor(config, tiny_model(), cache, None))
        return made[-1]

    return widest_steps(config, max_model_len=MAX_MODEL_LEN, make_executor=make), made[0]


def test_one_computes_the_whole_budget_and_draws_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    steps, executor = _steps(monkeypatch, max_num_seqs=5, max_num_batched_tokens=100)
    batches: list[Batch] = []
    execute = executor.execute

    def watched(batch: Batch) -> object:
        batches.append(batch)
        return execute(batch)

    monkeypatch.setattr(executor, "execute", watched)
    steps.runs[0]()
    (batch,) = batches
    assert (batch.num_tokens, batch.num_drawn) == (100, 5)
    assert steps.kv_bytes == executor.pools.num_bytes > 0


def test_the_other_computes_the_largest_recorded_step_and_stores_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[ModelBatch] = []

    def watched(_params: object, _config: object, _kv: object, batch: ModelBatch) -> torch.Tensor:
        seen.append(batch)
        return torch.zeros((len(batch.tokens), 258))

    monkeypatch.setattr(transformer, "forward", watched)
    sizes = {"cuda_graph_sizes": (1, 2, 4, 8)}
    steps, _ = _steps(monkeypatch, max_num_seqs=5, max_num_batched_tokens=100, **sizes)
    steps.runs[1]()
    (batch,) = seen
    assert len(batch.tokens) == 8
    assert batch.groups[0].slot_mapping.tolist() == [-1] * 8


def test_their_pool_is_gone_as_soon_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.disable()
    try:
        steps, executor = _steps(monkeypatch, max_num_seqs=2, max_num_batched_tokens=20)
        for run in steps.runs:
            run()
        pool = ref(executor.pools.device[0])
        del executor, steps, run
        assert pool() is None
    finally:
        gc.enable()
