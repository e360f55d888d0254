"""Windows give blocks up, and no bit of any result changes by that.

The models are the tiny one with windows of 8 tokens in blocks of 4. Entries of block tables
that a window has left name a block full of NaN, so that whatever reads one is found out.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
import torch

from model_zoo.config import ModelConfig
from paged.allocator.window import most_window_blocks
from paged.config import CacheConfig
from paged.engine import model_engine
from paged.engine.kv_pool import KVPools, make_pools
from paged.engine.llm import LLM
from paged.engine.llm_config import LLMConfig
from paged.engine.model_executor import ModelExecutor
from paged.engine.outputs import RequestOutput
from paged.engine.step_result import ModelStepResult
from paged.sampling_params import BeamParams, SamplingParams
from paged.scheduler.batch import Batch
from tests.helpers.tiny_llm import StepLog, check_empty, check_every_step, tiny_model_with

WINDOW, BLOCK_SIZE = 8, 4
WINDOWS = {"mistral": (WINDOW, WINDOW), "mixed": (None, WINDOW)}
# Enough for any one request, and not for all.
FEW_BLOCKS = {"mistral": 14, "mixed": 28}
PROMPTS = (
    *("the quick brown fox jumps over", "the quick brown fox jumps over the dog, and so"),
    *("a", "zebra crossing ahead of the bend in the road", "0123456789abcdef"),
)
PARAMS = tuple(
    SamplingParams(
        n=3 if i == 1 else 1,
        temperature=[0.0, 0.8, 1.3][i % 3],
        seed=100 + i,
        max_tokens=12 + 5 * i,
        ignore_eos=True,
        logprobs=0,
    )
    for i in range(len(PROMPTS))
)


@pytest.fixture(autouse=True)
def _poison(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add a block of NaN to every pool, and let what a window has left point there."""
    execute = ModelExecutor.execute

    def make(config: ModelConfig, cache: CacheConfig, **others: Any) -> KVPools:
        pools = make_pools(config, cache, **others)
        blocks = [torch.full_like(pool[:1], torch.nan) for pool in pools.device]
        device = tuple(map(torch.cat, zip(pools.device, blocks, strict=True)))
        return replace(pools, device=device)

    def poisoned(executor: ModelExecutor, batch: Batch) -> ModelStepResult:
        for tables, pool in zip(batch.group_tables, executor.pools.device, strict=False):
            is_dead = np.arange(tables.max_blocks_per_row) < tables.first_block[:, None]
            tables.ids[is_dead] = len(pool) - 1
        return execute(executor, batch)

    monkeypatch.setattr(model_engine, "make_pools", make)
    monkeypatch.setattr(ModelExecutor, "execute", poisoned)


def _llm(name: str, dtype: str = "float32", **options: Any) -> LLM:
    loaded = tiny_model_with(dtype, windows=WINDOWS[name])
    options = {"num_gpu_blocks_override": 64, "max_num_seqs": 8} | options
    llm = LLM.of(loaded, LLMConfig(model="tiny", block_size=BLOCK_SIZE, **options))
    check_every_step(llm)
    return llm


def _watch(llm: LLM) -> StepLog:
    log = StepLog()
    llm.engine.observers = (*llm.engine.observers, log)
    return log


Results = list[list[tuple[list[int], float | None]]]
"""Tokens and log-probability of the sequences of each request."""


def _results(outputs: list[RequestOutput]) -> Results:
    return [[(each.tokens, each.cumulative_logprob) for each in of.outputs] for of in outputs]


def _keeping(name: str, dtype: str) -> LLM:
    """Make one whose allocator gives no block up."""
    return _llm(name, dtype, allocator="reserved-max", num_gpu_blocks_override=256)


@lru_cache(maxsize=4)
def _alone(name: str, dtype: str) -> Results:
    llm = _keeping(name, dtype)
    outputs = [llm.generate(*each)[0] for each in zip(PROMPTS, PARAMS, strict=True)]
    assert not llm.engine.scheduler.allocator.tables.first_block.any()
    return _results(outputs)


SCENARIOS: dict[str, dict[str, Any]] = {
    "batch": {},
    "chunked": {"max_num_batched_tokens": 7},
    "one token a step": {"max_num_batched_tokens": 1},
    "preemption by recompute": {"enable_prefix_caching": False},
    "preemption and prefix hits": {},
    "preemption by swap": {"preemption": "swap"},
}
HAPPENS = {
    "preemption by recompute": ("num_preempted", "num_recomputed_tokens"),
    "preemption and prefix hits": ("num_preempted",),
    "preemption by swap": ("swap_out", "swap_in", "copies"),
}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("model", WINDOWS)
@pytest.mark.parametrize("name", SCENARIOS)
def test_results_are_those_of_an_engine_that_keeps_all(name: str, model: str, dtype: str) -> None:
    options = SCENARIOS[name]
    if name.startswith("preemption"):
        few = {"num_gpu_blocks_override": FEW_BLOCKS[model], "max_num_batched_tokens": 8}
        options = few | options
    llm = _llm(model, dtype, **options)
    log = _watch(llm)
    assert _results(llm.generate(PROMPTS, PARAMS)) == _alone(model, dtype)
    check_empty(llm)
    for what in HAPPENS.get(name, ()):
        assert log.count(what), f"{what} never happened"


@pytest.mark.parametrize("model", WINDOWS)
def test_cached_prefixes_change_nothing(model: str) -> None:
    llm = _llm(model, num_gpu_blocks_override=128)
    log = _watch(llm)
    for _ in range(2):
        assert _results(llm.generate(PROMPTS, PARAMS)) == _alone(model, "float32")
    num_cached = [each.num_cached_tokens for batch in log.batches for each in batch.admitted]
    # Hits reach so far that the window has left their first blocks.
    assert max(num_cached) > 2 * WINDOW
    check_empty(llm)


def test_a_long_sequence_runs_in_a_small_pool() -> None:
    llm = _llm("mistral", num_gpu_blocks_override=5, max_num_batched_tokens=8, max_num_seqs=2)
    log = _watch(llm)
    params = SamplingParams(max_tokens=70, seed=1, ignore_eos=True, logprobs=0)
    (output,) = llm.generate(["a prompt of some length"], params)
    (wanted,) = _keeping("mistral", "float32").generate(["a prompt of some length"], params)
    assert _results([output]) == _results([wanted])
    assert not log.count("num_preempted")
    assert len(output.outputs[0].tokens) == 70 > 5 * BLOCK_SIZE


def test_a_sequence_holds_its_window_and_a_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    chunk = 12
    llm = _llm("mistral", max_num_batched_tokens=chunk)
    held: list[int] = []
    execute = ModelExecutor.execute

    def watched(executor: ModelExecutor, batch: Batch) -> ModelStepResult:
        tables = batch.tables
        held.extend((tables.num_blocks - tables.first_block)[batch.rows].tolist())
        return execute(executor, batch)

    monkeypatch.setattr(ModelExecutor, "execute", watched)
    llm.generate(PROMPTS, PARAMS)
    most = most_window_blocks(WINDOW, block_size=BLOCK_SIZE, num_step_tokens=chunk)
    assert max(held) == most < -(-max(map(len, PROMPTS)) // BLOCK_SIZE)
    # Decoding adds a token a step.
    assert held[-1] <= most_window_blocks(WINDOW, block_size=BLOCK_SIZE, num_step_tokens=1)


@pytest.mark.parametrize("model", WINDOWS)
def test_beams_share_and_part(model: str) -> None:
    params = SamplingParams(beam=BeamParams(width=3), n=3, max_tokens=20, seed=1, ignore_eos=True)
    outputs = _llm(model, num_gpu_blocks_override=40).generate(list(PROMPTS[:2]), params)
    wanted = _keeping(model, "float32").generate(list(PROMPTS[:2]), params)
    assert _results(outputs) == _results(wanted)


def test_other_allocators_serve_all_groups_by_one_table() -> None:
    assert len(_keeping("mixed", "float32").engine.scheduler.allocator.group_tables) == 1
    llm = _llm("mixed", allocator="virtual", num_gpu_blocks_override=256)
    assert _results(llm.generate(PROMPTS, PARAMS)) == _alone("mixed", "float32")


@pytest.mark.parametrize("model", WINDOWS)
def test_a_prompt_of_many_windows_is_hit_whole(model: str) -> None:
    llm = _llm(model, max_num_seqs=2, max_num_batched_tokens=16)
    prompt = [number % 250 for number in range(80)]
    params = SamplingParams(max_tokens=2, seed=1, ignore_eos=True, logprobs=0)
    first, second = (llm.generate([prompt], params)[0] for _ in range(2))
    assert (first.num_cached_tokens, second.num_cached_tokens) == (0, len(prompt) - 1)
    assert _results([first]) == _results([second])


@pytest.mark.parametrize("window", [5, 6, 10, 18])
def test_sequences_in_step_with_each_other_all_fit(window: int) -> None:
    config = LLMConfig(
        model="tiny",
        block_size=BLOCK_SIZE,
        max_num_seqs=16,
        max_num_batched_tokens=16,
        kv_cache_memory_bytes=10**7,
        enable_prefix_caching=False,
    )
    llm = LLM.of(tiny_model_with(windows=(None, window)), config)
    log = _watch(llm)
    params = SamplingParams(max_tokens=40, seed=1, ignore_eos=True)
    llm.generate([[number, 2, 3] for number in range(16)], params)
    assert not log.count("num_preempted")
