"""How many blocks the KV pool gets."""

from __future__ import annotations

from collections.abc import Callable

import torch

from paged.engine.llm_config import LLMConfig
from paged.errors import ConfigError

CPU_DEFAULT_BYTES = 1 << 30
"""Pool on a CPU where nothing else is said, and at most half of the memory that is free."""


def num_pool_blocks(
    config: LLMConfig,
    *,
    block_bytes: int,
    max_model_len: int,
    free_bytes: Callable[[], int],
) -> int:
    """Return the blocks of the pool, never more than all sequences together can fill.

    free_bytes: what the pool may take where the configuration names no size; asked only then.
    Raises ConfigError where not one block fits.
    """
    if config.num_blocks is not None:
        return config.num_blocks
    budget_bytes = config.kv_cache_memory_bytes
    if budget_bytes is None:
        budget_bytes = free_bytes()
    num_blocks = budget_bytes // block_bytes
    if num_blocks < 1:
        raise ConfigError(
            f"a KV block of {config.block_size} tokens takes {block_bytes} bytes, and the pool may"
            f" take {max(0, budget_bytes)}; give more kv_cache_memory_bytes or a smaller"
            " block_size"
        )
    blocks_per_sequence = -(-max_model_len // config.block_size)
    # A buddy allocator takes powers of two.
    return min(num_blocks, config.max_num_seqs << (blocks_per_sequence - 1).bit_length())


def free_host_bytes(meminfo: str) -> int:
    """Return what a pool on the CPU takes by default.

    meminfo: text of /proc/meminfo; without its line MemAvailable the default stands alone.
    """
    for line in meminfo.splitlines():
        if line.startswith("MemAvailable:"):
            return min(CPU_DEFAULT_BYTES, int(line.split()[1]) * 1024 // 2)
    return CPU_DEFAULT_BYTES


def free_gpu_bytes(
    device: torch.device, *, utilization: float, run_largest_step: Callable[[], None]
) -> int:
    """Return what a share of the GPU's memory leaves beside weights and activations.

    run_largest_step: computes the largest step there can be, so that its peak is known.
    """
    torch.cuda.reset_peak_memory_stats(device)
    run_largest_step()
    torch.cuda.synchronize(device)
    peak_bytes = torch.cuda.max_memory_allocated(device)
    torch.cuda.empty_cache()
    free, total = torch.cuda.mem_get_info(device)
    # Of others, and of CUDA itself.
    outside_bytes = total - free - torch.cuda.memory_reserved(device)
    return int(total * utilization) - outside_bytes - peak_bytes
