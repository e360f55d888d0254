"""An engine put together: room for a sequence, kernels in force, the largest step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from paged.allocator.base import Demand
from paged.allocator.registry import ALLOCATORS
from paged.engine import model_engine
from paged.engine.engine import Engine, give_up
from paged.engine.llm import LLM
from paged.engine.llm_config import LLMConfig
from paged.engine.loaded_model import load_model
from paged.engine.model_engine import make_engine
from paged.engine.model_executor import ModelExecutor
from paged.errors import ConfigError, KernelSourceError
from paged.sampling_params import SamplingParams
from tests.helpers.tiny_llm import MAX_MODEL_LEN, tiny_model, tiny_model_with


def _engine(**options: Any) -> Engine:
    options = {"num_gpu_blocks_override": 40, "block_size": 4, "max_num_seqs": 4} | options
    return make_engine(LLMConfig(model="tiny", **options), tiny_model(), on_failure=give_up)


def test_pools_are_as_large_as_the_allocator_thinks() -> None:
    engine = _engine(preemption="swap", num_host_blocks=7)
    executor = engine.executor
    assert isinstance(executor, ModelExecutor)
    assert engine.scheduler.allocator.num_blocks == executor.pools.device[0].shape[0] == 40
    assert executor.pools.host[0].shape[0] == 7
    assert engine.scheduler.allocator.tables.max_rows == 4


def test_swap_space_in_bytes_holds_as_many_blocks_as_fit() -> None:
    # 2 layers of keys and values: 2 heads of 16 float32, 4 tokens a block.
    engine = _engine(swap_space_bytes=7 * 2048 + 9)
    assert isinstance(engine.executor, ModelExecutor)
    assert engine.executor.pools.host[0].shape[0] == 7


@pytest.mark.parametrize("allocator", sorted(ALLOCATORS))
def test_a_pool_without_a_size_holds_all_sequences(allocator: str) -> None:
    engine = _engine(num_gpu_blocks_override=None, allocator=allocator)
    demand = Demand(num_tokens=MAX_MODEL_LEN, max_tokens=MAX_MODEL_LEN, num_sequences=1)
    for _ in range(4):
        assert engine.scheduler.allocator.admit(demand) is not None


def test_the_static_allocator_batches_statically() -> None:
    assert _engine(allocator="static").scheduler.config.batching == "static"


@pytest.mark.parametrize("device", [None, "cpu", "cuda"])
def test_the_budget_is_that_of_the_device_that_the_model_is_on(device: str | None) -> None:
    engine = _engine(device=device)
    assert engine.scheduler.config.max_num_batched_tokens == 256


@pytest.mark.parametrize("allocator", ["reserved-max", "static"])
def test_a_pool_that_holds_no_reservation_is_refused(allocator: str) -> None:
    with pytest.raises(
        ConfigError, match=f"and the allocator {allocator} says: 1 x {MAX_MODEL_LEN} res"
    ):
        _engine(allocator=allocator, num_gpu_blocks_override=MAX_MODEL_LEN // 4 - 1)


def test_unknown_kernels_are_refused() -> None:
    with pytest.raises(KernelSourceError, match="expected a variant of attention"):
        _engine(kernels={"attention": "v99"})
    with pytest.raises(KernelSourceError, match="expected an op of"):
        _engine(kernels={"attend": "v2"})


@pytest.mark.parametrize("name", ["host", "interpret"])
def test_what_is_no_operation_but_a_name_beside_them_is_refused(name: str) -> None:
    with pytest.raises(KernelSourceError, match=f"expected an op of .*; got '{name}'"):
        _engine(kernels={name: "x"})


def test_blocks_that_no_sequence_fills_are_refused_but_for_the_default() -> None:
    with pytest.raises(ConfigError, match=f"block_size: expected at most {MAX_MODEL_LEN} tokens"):
        _engine(block_size=MAX_MODEL_LEN + 1)
    _engine(block_size=MAX_MODEL_LEN)
    short = tiny_model_with(max_model_len=9)
    make_engine(LLMConfig(num_gpu_blocks_override=4), short, on_failure=give_up)
    with pytest.raises(ConfigError, match="block_size: expected at most 16 tokens, where"):
        make_engine(LLMConfig(block_size=17), short, on_failure=give_up)


@pytest.mark.parametrize("is_probed", [True, False])
def test_more_memory_than_there_is_is_refused_with_the_bytes_asked_for(
    is_probed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # more than a process has addresses for, whatever the system promises
    most = {"num_gpu_blocks_override": 2**31 - 1, "num_host_blocks": 2**31 - 1, "block_size": 96}
    if not is_probed:
        monkeypatch.setattr(model_engine, "probe_host", lambda _: None)
        monkeypatch.setattr(model_engine, "make_allocator", _no_memory)
    with pytest.raises(ConfigError, match=r"^expected memory for 2147483647 KV blocks") as caught:
        _engine(**most)
    message = str(caught.value)
    assert message.count(f"({(2**31 - 1) * 96 * 512:,} bytes)") == 2
    assert ("tried to allocate" if is_probed else "Unable to allocate") in message


def _no_memory(*_: object, **__: object) -> None:
    raise MemoryError("Unable to allocate 7.28 TiB")


SIZES = {
    "num_gpu_blocks_override": 23,
    "kv_cache_memory_bytes": 24 * 2048 - 1,
}


@pytest.mark.parametrize("name", SIZES)
def test_a_pool_that_holds_no_sequence_of_the_most_tokens_is_refused(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        _engine(**{"num_gpu_blocks_override": None, name: SIZES[name]})
    message = str(caught.value)
    assert f"max_model_len={MAX_MODEL_LEN} tokens, 24 blocks or 49,152 bytes" in message
    assert f"got 23 blocks or 47,104 bytes from {name}={SIZES[name]}," in message
    assert message.endswith("give more of it, or a max_model_len of at most 92")
    _engine(**{"num_gpu_blocks_override": None, name: SIZES[name] + 1})


def test_windows_need_what_a_sequence_holds_at_once() -> None:
    loaded = tiny_model_with(windows=(8, 8))
    options = LLMConfig(
        model="tiny", num_gpu_blocks_override=5, block_size=4, max_num_batched_tokens=12
    )
    with pytest.raises(ConfigError, match=r"96 tokens, 6 blocks or .*; got 5 blocks") as caught:
        make_engine(options, loaded, on_failure=give_up)
    assert str(caught.value).endswith("give more of it, or a max_num_batched_tokens below 12")
    make_engine(replace(options, max_num_batched_tokens=8), loaded, on_failure=give_up)


def test_blocks_that_are_named_go_before_bytes() -> None:
    engine = _engine(num_gpu_blocks_override=31, kv_cache_memory_bytes=1 << 30)
    assert engine.scheduler.allocator.num_blocks == 31


def test_without_sizes_a_gpu_is_measured_with_the_steps_of_the_options(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    on_gpu = replace(tiny_model(), device=torch.device("cuda", 0))
    asked: list[tuple[float, int]] = []

    def free(memory: object, *, utilization: float, make_steps: Callable[[], Any]) -> int:
        monkeypatch.setattr(model_engine, "make_executor", lambda *_: executor)
        asked.append((utilization, len(make_steps().runs)))
        return 24 * 2048 - 1

    executor = _engine().executor
    monkeypatch.setattr(model_engine, "free_gpu_bytes", free)
    options = LLMConfig(block_size=4, max_num_seqs=4, gpu_memory_utilization=0.7)
    with pytest.raises(ConfigError, match=r"47,104 bytes from gpu_memory_utilization=0\.7,"):
        make_engine(options, on_gpu, on_failure=give_up)
    assert asked == [(0.7, 2)]


@pytest.mark.gpu
@pytest.mark.parametrize("sizes", [None, ()])
def test_a_gpu_is_measured_and_serves(sizes: tuple[int, ...] | None) -> None:
    options: dict[str, Any] = {"model": "tiny", "device": "cuda", "max_model_len": MAX_MODEL_LEN}
    config = LLMConfig(block_size=4, max_num_seqs=4, cuda_graph_sizes=sizes, **options)
    llm = LLM.of(load_model(config), config)
    # enough for all sequences to be as long as they may
    assert llm.engine.scheduler.allocator.num_blocks == 4 * 32
    params = SamplingParams(temperature=0.0, max_tokens=9, ignore_eos=True)
    assert [len(each.outputs[0].tokens) for each in llm.generate(["a", "b"], params)] == [9, 9]
