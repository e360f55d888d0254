"""Options of an LLM: what to load, how much memory to use, and how to schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from paged.allocator.registry import find_allocator
from paged.config import CacheConfig, GroupConfig, SchedulerConfig
from paged.errors import ConfigError

DTYPES = ("auto", "float32", "bfloat16", "float16")
KV_CACHE_DTYPES = (*DTYPES, "float8_e4m3fn")
_COUNTS = ("num_gpu_blocks_override", "kv_cache_memory_bytes", "max_model_len", "num_threads")


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMConfig:
    """Everything that decides how a model is served.

    model: see `model_zoo.loading.files.resolve`.
    device: cpu, cuda or cuda:N; None takes a GPU where there is one.
    dtype: of the weights, and on a GPU of activations; auto is bfloat16 on the CPU, and the
        checkpoint's own on a GPU. Activations on the CPU are float32.
    quantization: None, or int8 (CPU).
    kv_cache_dtype: auto is float32 beside float32 weights, else 16 bits.
    num_gpu_blocks_override, kv_cache_memory_bytes, gpu_memory_utilization: size of the KV
        pool on either device: blocks, else bytes, else what a share of a GPU's memory leaves
        beside weights and the widest step; a CPU's pool is 1 GiB at most.
    cuda_graph_sizes: batch sizes that decode is recorded at on a GPU; None is 1, 2, 4, ... 256,
        and () is none.
    num_host_blocks: host memory for swapped sequences, in blocks; None is none, and as many
        as the pool has with preemption by swap.
    max_model_len: most tokens of a sequence; None is what the model allows.
    enable_prefix_caching: None caches where the allocator can.
    kernels: operation to variant, as for `paged.use_kernel`.
    num_threads: threads of host kernels; None is the physical cores.
    seed: stands in for requests that name none.
    """

    model: str = "smollm2-135m"
    device: str | None = None
    dtype: str = "auto"
    quantization: str | None = None
    kv_cache_dtype: str = "auto"
    block_size: int = 16
    num_gpu_blocks_override: int | None = None
    kv_cache_memory_bytes: int | None = None
    gpu_memory_utilization: float = 0.9
    cuda_graph_sizes: Sequence[int] | None = None
    num_host_blocks: int | None = None
    max_model_len: int | None = None
    max_num_seqs: int = 256
    max_num_batched_tokens: int = 2048
    allocator: str = "paged"
    policy: str = "fcfs"
    preemption: str = "recompute"
    enable_prefix_caching: bool | None = None
    kernels: Mapping[str, str] = field(default_factory=dict[str, str])
    num_threads: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name, choices in (("dtype", DTYPES), ("kv_cache_dtype", KV_CACHE_DTYPES)):
            if getattr(self, name) not in choices:
                raise ConfigError(
                    f"{name} must be one of {', '.join(choices)}, got {getattr(self, name)!r:.40}"
                )
        find_allocator(self.allocator)
        for name in _COUNTS:
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"{name} must be at least 1 or None, got {value}")
        if any(size < 1 for size in self.cuda_graph_sizes or ()):
            raise ConfigError(
                f"cuda_graph_sizes must each be at least 1, got {list(self.cuda_graph_sizes or ())}"
            )
        if not 0.0 < self.gpu_memory_utilization <= 1.0:
            raise ConfigError(
                "gpu_memory_utilization is a share of the memory, 0 < share <= 1,"
                f" got {self.gpu_memory_utilization}"
            )
        if not -(2**63) <= self.seed < 2**63:
            raise ConfigError(f"seed must fit 64 bits, got {self.seed}")
        # What these two check is checked now and not after the weights are loaded.
        self.scheduler_config("continuous")
        self.cache_config(num_blocks=1, max_model_len=1)

    def scheduler_config(self, batching: str) -> SchedulerConfig:
        """Options of the scheduler, for an allocator that batches so."""
        return SchedulerConfig(
            max_num_seqs=self.max_num_seqs,
            max_num_batched_tokens=self.max_num_batched_tokens,
            policy=self.policy,
            batching=batching,
            preemption=self.preemption,
        )

    def host_blocks(self, num_blocks: int) -> int:
        """Return the blocks on the host of a pool of this size."""
        if self.num_host_blocks is not None:
            return self.num_host_blocks
        return num_blocks if self.allocator == "paged" and self.preemption == "swap" else 0

    def cache_config(
        self,
        *,
        num_blocks: int,
        max_model_len: int,
        groups: tuple[GroupConfig, ...] | None = None,
    ) -> CacheConfig:
        """Options of the allocator, for a pool of this size, or for these."""
        is_paged = self.allocator == "paged"
        wants_cache = self.enable_prefix_caching
        if wants_cache and not is_paged:
            raise ConfigError(
                f"enable_prefix_caching needs the allocator paged, got {self.allocator}"
            )
        num_host_blocks = self.host_blocks(num_blocks)
        if groups is not None:
            num_blocks = sum(group.num_blocks for group in groups)
            num_host_blocks = sum(group.num_host_blocks for group in groups)
        return CacheConfig(
            num_blocks=num_blocks,
            block_size=self.block_size,
            max_model_len=max_model_len,
            allocator=self.allocator,
            enable_prefix_caching=is_paged if wants_cache is None else wants_cache,
            num_host_blocks=num_host_blocks,
            groups=groups,
            max_step_tokens=self.max_num_batched_tokens,
        )
