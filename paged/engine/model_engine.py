"""An engine for a loaded model: pools, allocator, scheduler and executor put together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from paged.allocator.base import Allocator, Demand
from paged.allocator.registry import ALLOCATORS, make_allocator
from paged.config import CacheConfig
from paged.engine.clock import WallClock
from paged.engine.engine import Engine
from paged.engine.kv_pool import block_bytes, make_pools
from paged.engine.llm_config import LLMConfig
from paged.engine.loaded_model import LoadedModel
from paged.engine.model_executor import ModelExecutor
from paged.engine.pool_size import free_gpu_bytes, free_host_bytes, num_pool_blocks
from paged.errors import ConfigError
from paged.kernel.backends.host import HostConfig
from paged.kernel.choice import Choices, use_kernel
from paged.sampling_params import SamplingParams
from paged.scheduler.request import Request
from paged.scheduler.scheduler import Scheduler

_MEMINFO = Path("/proc/meminfo")


def make_engine(
    options: LLMConfig, model: LoadedModel, *, on_failure: Callable[[Exception], None]
) -> Engine:
    """Build the engine that serves a model.

    on_failure: as for `Engine`.
    Raises: ConfigError where the options leave no room for one sequence; KernelSourceError
        for kernels that do not exist.
    """
    max_model_len = model.config.max_model_len
    choices = _choices(options)
    num_blocks = num_pool_blocks(
        options,
        block_bytes=block_bytes(model.config, block_size=options.block_size, dtype=model.kv_dtype),
        max_model_len=max_model_len,
        free_bytes=lambda: _free_bytes(options, model, choices),
    )
    cache = options.cache_config(num_blocks=num_blocks, max_model_len=max_model_len)
    allocator = make_allocator(cache, max_rows=options.max_num_seqs)
    _check_room(allocator, max_model_len)
    batching = ALLOCATORS[options.allocator].batching
    scheduler = Scheduler(
        options.scheduler_config(batching), allocator, max_model_len=max_model_len
    )
    executor = _make_executor(options, model, cache, choices)
    return Engine(scheduler, executor, WallClock(), [executor.searches], on_failure=on_failure)


def _choices(options: LLMConfig) -> Choices | None:
    """Resolve the kernels of the options; None where they name none."""
    if not options.kernels and options.num_threads is None:
        return None
    variants = dict[str, str](options.kernels)
    host = HostConfig(num_threads=options.num_threads)
    with use_kernel(interpret=None, host=host, **variants) as choices:
        return choices


def _make_executor(
    options: LLMConfig, model: LoadedModel, cache: CacheConfig, choices: Choices | None
) -> ModelExecutor:
    pools = make_pools(
        model.config,
        num_blocks=cache.num_blocks,
        num_host_blocks=cache.num_host_blocks,
        block_size=cache.block_size,
        dtype=model.kv_dtype,
        device=model.device,
    )
    return ModelExecutor(
        model.config,
        model.params,
        pools,
        max_rows=options.max_num_seqs,
        max_tokens=options.max_num_batched_tokens,
        eos_ids=model.tokenizer.eos_ids,
        choices=choices,
    )


def _check_room(allocator: Allocator, max_model_len: int) -> None:
    refusal = allocator.refusal(Demand(num_tokens=1, max_tokens=min(2, max_model_len)))
    if refusal is not None:
        raise ConfigError(
            f"the allocator {allocator.name} can serve no request: {refusal}; give more"
            " num_blocks or kv_cache_memory_bytes, or a smaller max_model_len"
        )


def _free_bytes(options: LLMConfig, model: LoadedModel, choices: Choices | None) -> int:
    if model.device.type == "cpu":
        return free_host_bytes(_MEMINFO.read_text() if _MEMINFO.is_file() else "")
    return free_gpu_bytes(
        model.device,
        utilization=options.gpu_memory_utilization,
        run_largest_step=lambda: run_largest_step(options, model, choices),
    )


def run_largest_step(options: LLMConfig, model: LoadedModel, choices: Choices | None) -> None:
    """Compute the whole token budget at once and draw for as many sequences as may run."""
    budget = options.max_num_batched_tokens
    num_requests = min(options.max_num_seqs, budget)
    num_tokens = max(1, min(budget // num_requests, model.config.max_model_len - 1))
    cache = CacheConfig(
        num_blocks=num_requests * (num_tokens // options.block_size + 1),
        block_size=options.block_size,
        max_model_len=model.config.max_model_len,
        watermark=0.0,
    )
    allocator = make_allocator(cache, max_rows=options.max_num_seqs)
    scheduler = Scheduler(
        options.scheduler_config("continuous"),
        allocator,
        max_model_len=model.config.max_model_len,
    )
    for number in range(num_requests):
        scheduler.add(
            Request(
                request_id=str(number),
                prompt_tokens=np.zeros(num_tokens, np.int32),
                max_new_tokens=1,
                sampling=SamplingParams(seed=0),
            )
        )
    _make_executor(options, model, cache, choices).execute(scheduler.schedule())
