"""An engine put together: room for a sequence, kernels in force, the largest step."""

from __future__ import annotations

from typing import Any

import pytest

from paged.allocator.base import Demand
from paged.allocator.registry import ALLOCATORS
from paged.engine.engine import Engine, give_up
from paged.engine.llm_config import LLMConfig
from paged.engine.model_engine import make_engine, run_largest_step
from paged.engine.model_executor import ModelExecutor
from paged.errors import ConfigError, KernelSourceError
from paged.scheduler.batch import Batch
from tests.helpers.tiny_llm import MAX_MODEL_LEN, tiny_model


def _engine(**options: Any) -> Engine:
    options = {"num_blocks": 40, "block_size": 4, "max_num_seqs": 4} | options
    return make_engine(LLMConfig(model="tiny", **options), tiny_model(), on_failure=give_up)


def test_pools_are_as_large_as_the_allocator_thinks() -> None:
    engine = _engine(preemption="swap", num_host_blocks=7)
    executor = engine.executor
    assert isinstance(executor, ModelExecutor)
    assert engine.scheduler.allocator.num_blocks == executor.pools.device[0].shape[0] == 40
    assert executor.pools.host[0].shape[0] == 7
    assert engine.scheduler.allocator.tables.max_rows == 4


@pytest.mark.parametrize("allocator", sorted(ALLOCATORS))
def test_a_pool_without_a_size_holds_all_sequences(allocator: str) -> None:
    engine = _engine(num_blocks=None, allocator=allocator)
    demand = Demand(num_tokens=MAX_MODEL_LEN, max_tokens=MAX_MODEL_LEN, num_sequences=1)
    for _ in range(4):
        assert engine.scheduler.allocator.admit(demand) is not None


def test_the_static_allocator_batches_statically() -> None:
    assert _engine(allocator="static").scheduler.config.batching == "static"


@pytest.mark.parametrize("allocator", ["reserved-max", "static"])
def test_a_pool_that_holds_no_reservation_is_refused(allocator: str) -> None:
    with pytest.raises(ConfigError, match=f"the allocator {allocator} can serve no request: 1 x"):
        _engine(allocator=allocator, num_blocks=MAX_MODEL_LEN // 4 - 1)


def test_unknown_kernels_are_refused() -> None:
    with pytest.raises(KernelSourceError, match="expected a variant of attention"):
        _engine(kernels={"attention": "v99"})
    with pytest.raises(KernelSourceError, match="expected an op of"):
        _engine(kernels={"attend": "v2"})


def test_the_largest_step_uses_the_whole_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    batches: list[Batch] = []
    execute = ModelExecutor.execute

    def watched(self: ModelExecutor, batch: Batch) -> object:
        batches.append(batch)
        return execute(self, batch)

    monkeypatch.setattr(ModelExecutor, "execute", watched)
    options = LLMConfig(model="tiny", max_num_seqs=5, max_num_batched_tokens=100)
    run_largest_step(options, tiny_model(), None)
    (batch,) = batches
    assert (batch.num_tokens, batch.num_drawn) == (100, 5)
