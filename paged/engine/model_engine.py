"""An engine for a loaded model: pools, allocator, scheduler and executor put together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from paged.allocator.base import Allocator, Demand
from paged.allocator.registry import ALLOCATORS, make_allocator
from paged.allocator.window import most_window_blocks
from paged.config import CacheConfig
from paged.engine.allocation import memory_of, probe_host
from paged.engine.clock import WallClock
from paged.engine.decode_graphs import find_capture, graph_sizes
from paged.engine.engine import Engine
from paged.engine.group_pools import group_pools
from paged.engine.kv_pool import block_bytes, make_pools
from paged.engine.llm_config import LLMConfig
from paged.engine.loaded_model import LoadedModel
from paged.engine.memory_probe import GpuMemory
from paged.engine.model_executor import ModelExecutor
from paged.engine.pool_size import free_gpu_bytes, free_host_bytes, num_pool_blocks
from paged.engine.recorded_batches import record_batches
from paged.engine.widest_steps import widest_steps
from paged.errors import ConfigError
from paged.field_checks import expected
from paged.kernel.backends.host import HostConfig
from paged.kernel.choice import Choices, use_kernel
from paged.kernel.registry import resolve_variant
from paged.scheduler.scheduler import Scheduler

_MEMINFO = Path("/proc/meminfo")


def make_engine(
    options: LLMConfig, model: LoadedModel, *, on_failure: Callable[[Exception], None]
) -> Engine:
    """Build the engine that serves a model.

    on_failure: as for `Engine`.
    Raises: ConfigError where the options leave no room for one sequence of the most tokens, or
        ask for more memory than there is; KernelSourceError for kernels that do not exist;
        KernelRunError where decode cannot be recorded; RecordingError where batches cannot.
    """
    max_model_len = model.config.max_model_len
    options = replace(options, device=str(model.device))
    _check_block_size(options.block_size, max_model_len)
    choices = _choices(options)
    num_bytes = block_bytes(model.config, block_size=options.block_size, dtype=model.kv_dtype)
    options = options.with_swap_space(num_bytes)
    num_blocks = num_pool_blocks(
        options,
        block_bytes=num_bytes,
        max_model_len=max_model_len,
        free_bytes=lambda: _free_bytes(options, model, choices),
    )
    cache = options.cache_config(
        num_blocks=num_blocks,
        max_model_len=max_model_len,
        groups=group_pools(options, model.config, num_blocks=num_blocks),
    )
    with memory_of(_amounts(options, num_blocks=num_blocks, block_bytes=num_bytes)):
        if model.device.type == "cpu":
            probe_host((num_blocks + options.host_blocks(num_blocks)) * num_bytes)
        allocator = make_allocator(cache, max_rows=options.max_num_seqs)
        _check_room(allocator, options, model, num_blocks)
        batching = ALLOCATORS[options.allocator].batching
        scheduler = Scheduler(
            options.scheduler_config(batching), allocator, max_model_len=max_model_len
        )
        executor = make_executor(options, model, cache, choices)
        executor.record_graphs()
    engine = Engine(scheduler, executor, WallClock(), [executor.searches], on_failure=on_failure)
    if options.record is not None:
        record_batches(engine, Path(options.record), model.config, name=model.name)
    return engine


def _check_block_size(block_size: int, max_model_len: int) -> None:
    """Refuse blocks that no sequence fills, but for those of the default size."""
    most = max(LLMConfig().block_size, max_model_len)
    if block_size > most:
        what = f"at most {most} tokens, where max_model_len is {max_model_len}"
        raise expected("block_size", what, block_size)


def _amounts(options: LLMConfig, *, num_blocks: int, block_bytes: int) -> str:
    """Say what the options ask for."""
    num_host_blocks = options.host_blocks(num_blocks)
    return (
        f"{num_blocks} KV blocks ({num_blocks * block_bytes:,} bytes), {num_host_blocks} of the"
        f" host ({num_host_blocks * block_bytes:,} bytes), max_num_seqs={options.max_num_seqs}"
        f" and max_num_batched_tokens={options.num_step_tokens}"
    )


def _choices(options: LLMConfig) -> Choices | None:
    """Resolve the kernels of the options; None where they name none."""
    if not options.kernels and options.num_threads is None:
        return None
    variants = {op: resolve_variant(op, variant) for op, variant in options.kernels.items()}
    host = HostConfig(num_threads=options.num_threads)
    with use_kernel(interpret=None, host=host, **variants) as choices:
        return choices


def make_executor(
    options: LLMConfig, model: LoadedModel, cache: CacheConfig, choices: Choices | None
) -> ModelExecutor:
    """Build the executor of a model, with the pools that a configuration asks for.

    choices: as for `ModelExecutor`. Raises: what torch raises where memory is short.
    """
    pools = make_pools(model.config, cache, dtype=model.kv_dtype, device=model.device)
    return ModelExecutor(
        model.config,
        model.params,
        pools,
        max_rows=options.max_num_seqs,
        max_tokens=options.num_step_tokens,
        eos_ids=model.tokenizer.eos_ids,
        grammars=model.grammars,
        choices=choices,
        graph_sizes=graph_sizes(
            options.cuda_graph_sizes, max_num_seqs=options.max_num_seqs, device=model.device
        ),
        capture=find_capture(model.device),
    )


def _check_room(
    allocator: Allocator, options: LLMConfig, model: LoadedModel, num_blocks: int
) -> None:
    """Refuse a pool of so many blocks that one sequence of the most tokens does not fit into."""
    length, block_size = model.config.max_model_len, options.block_size
    refusal = allocator.refusal(Demand(num_tokens=length, max_tokens=length))
    if refusal is None:
        return
    num_bytes = block_bytes(model.config, block_size=block_size, dtype=model.kv_dtype)
    needed, remedy = -(-length // block_size), f"max_model_len of at most {num_blocks * block_size}"
    windows = [group.window for group in model.config.kv_groups if group.window is not None]
    if allocator.name == "paged" and len(windows) == len(model.config.kv_groups):
        step = options.num_step_tokens
        held = most_window_blocks(max(windows), block_size=block_size, num_step_tokens=step)
        needed, remedy = min(needed, held), f"max_num_batched_tokens below {step}"
    raise ConfigError(
        f"expected room for one sequence of max_model_len={length} tokens, {needed} blocks or"
        f" {needed * num_bytes:,} bytes; got {num_blocks} blocks or"
        f" {num_blocks * num_bytes:,} bytes from {_size_source(options, model)}, and the"
        f" allocator {allocator.name} says: {refusal}; give more of it, or a {remedy}"
    )


def _size_source(options: LLMConfig, model: LoadedModel) -> str:
    """Say which option the size of the pool follows from."""
    for name in ("num_gpu_blocks_override", "kv_cache_memory_bytes"):
        value = getattr(options, name)
        if value is not None:
            return f"{name}={value}"
    if model.device.type == "cuda":
        return f"gpu_memory_utilization={options.gpu_memory_utilization}"
    return "the default of a CPU, which kv_cache_memory_bytes replaces"


def _free_bytes(options: LLMConfig, model: LoadedModel, choices: Choices | None) -> int:
    if model.device.type == "cpu":
        return free_host_bytes(_MEMINFO.read_text() if _MEMINFO.is_file() else "")
    return free_gpu_bytes(
        GpuMemory(model.device),
        utilization=options.gpu_memory_utilization,
        make_steps=lambda: widest_steps(
            options,
            max_model_len=model.config.max_model_len,
            make_executor=lambda cache: make_executor(options, model, cache, choices),
        ),
    )
