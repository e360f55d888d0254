"""The steps that take the most memory, run before there is a pool to learn how much."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from paged.allocator.registry import make_allocator
from paged.config import CacheConfig
from paged.engine.llm_config import LLMConfig
from paged.engine.model_executor import ModelExecutor
from paged.engine.pool_size import WidestSteps
from paged.sampling_params import SamplingParams
from paged.scheduler.batch import Batch
from paged.scheduler.request import Request
from paged.scheduler.scheduler import Scheduler


def widest_steps(
    options: LLMConfig, *, max_model_len: int, make_executor: Callable[[CacheConfig], ModelExecutor]
) -> WidestSteps:
    """Return a step of the whole token budget, and the largest one that a graph is recorded of.

    The first draws for as many sequences as may run, in the way that takes the most memory.
    make_executor: is given the pool of the steps.
    """
    num_seqs = min(options.max_num_seqs, options.num_step_tokens)
    num_tokens = max(1, min(options.num_step_tokens // num_seqs, max_model_len - 1))
    cache = CacheConfig(
        num_blocks=num_seqs * (num_tokens // options.block_size + 1),
        block_size=options.block_size,
        max_model_len=max_model_len,
        watermark=0.0,
    )
    executor = make_executor(cache)
    batch = _batch(options, cache, num_seqs=num_seqs, num_tokens=num_tokens)
    return WidestSteps(
        kv_bytes=executor.pools.num_bytes,
        runs=(lambda: executor.execute(batch), executor.rehearse_graphs),
    )


def _batch(options: LLMConfig, cache: CacheConfig, *, num_seqs: int, num_tokens: int) -> Batch:
    """Return the first step of requests that arrive at once."""
    scheduler = Scheduler(
        options.scheduler_config("continuous"),
        make_allocator(cache, max_rows=options.max_num_seqs),
        max_model_len=cache.max_model_len,
    )
    for number in range(num_seqs):
        scheduler.add(
            Request(
                request_id=str(number),
                prompt_tokens=np.zeros(num_tokens, np.int32),
                max_new_tokens=1,
                # a nucleus takes a sort of all logits
                sampling=SamplingParams(seed=0, temperature=1.0, top_p=0.5),
            )
        )
    return scheduler.schedule()
