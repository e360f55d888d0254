"""How many blocks the KV pool gets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from paged.engine.llm_config import LLMConfig
from paged.engine.memory_probe import MemoryProbe
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
    """Return the blocks of the pool: the first that is named of blocks, bytes, and what is free.

    Bytes become no more blocks than all sequences together can fill.
    free_bytes: what the pool may take where the configuration names no size; asked only then.
    Raises ConfigError where not one block fits.
    """
    if config.num_gpu_blocks_override is not None:
        return config.num_gpu_blocks_override
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


@dataclass(frozen=True, slots=True, kw_only=True)
class WidestSteps:
    """The steps of an engine that take the most memory.

    kv_bytes: of the pool that they run on, which is none of the engine's own memory.
    """

    kv_bytes: int
    runs: Sequence[Callable[[], object]]


def free_gpu_bytes(
    memory: MemoryProbe,
    *,
    utilization: float,
    make_steps: Callable[[], WidestSteps],
) -> int:
    """Return what a share of a GPU's memory leaves beside weights and activations.

    make_steps: makes an engine on a small pool of its own. Each of its steps is run once; what
        they take is added up, for the memory of one is not open to the other.
    Raises ConfigError where nothing is left.
    """
    weight_bytes = memory.tensor_bytes()
    step_bytes = _engine_bytes(memory, make_steps, weight_bytes)
    outside_bytes = memory.outside_bytes()
    budget_bytes = int(memory.total_bytes * utilization)
    free_bytes = budget_bytes - outside_bytes - weight_bytes - step_bytes
    if free_bytes <= 0:
        raise ConfigError(
            f"gpu_memory_utilization={utilization} allows {budget_bytes:,} of"
            f" {memory.total_bytes:,} bytes, of which the model takes {weight_bytes:,}, the"
            f" largest step {step_bytes:,} and others {outside_bytes:,}: nothing is left for KV;"
            " give a larger share, or fewer max_num_batched_tokens or max_num_seqs"
        )
    return free_bytes


def _engine_bytes(
    memory: MemoryProbe, make_steps: Callable[[], WidestSteps], before_bytes: int
) -> int:
    """Return what an engine keeps beside its pool, and its steps on top."""
    steps = make_steps()
    kept_bytes = memory.tensor_bytes() - before_bytes - steps.kv_bytes
    return kept_bytes + sum(memory.rise_bytes(run) for run in steps.runs)
