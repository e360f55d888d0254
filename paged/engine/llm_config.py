"""Options of an LLM: what to load, how much memory to use, and how to schedule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from paged.allocator.registry import find_allocator
from paged.config import CacheConfig, GroupConfig, SchedulerConfig
from paged.errors import ConfigError
from paged.field_checks import (
    MAX_INT32,
    MAX_INT64,
    MIN_INT64,
    Limits,
    boolean,
    check_integers,
    expected,
    integer,
    is_a,
    number,
    set_field,
    text,
)

DTYPES = ("auto", "float32", "bfloat16", "float16")
KV_CACHE_DTYPES = (*DTYPES, "float8_e4m3fn")

MAX_NUM_SEQS = 2**16
"""Far above any server: tables of rows are made at the start, and a larger number is a slip."""

GPU_STEP_TOKENS = 2048
CPU_STEP_TOKENS = 256
"""Token budget of a step: on a CPU those of half a second, in which no sequence gets its next."""

# Blocks, tokens and threads are int32 in arrays and kernels.
_INTEGERS: Limits = {
    "block_size": (1, MAX_INT32),
    "num_gpu_blocks_override": (1, MAX_INT32),
    "kv_cache_memory_bytes": (1, None),
    "num_host_blocks": (0, MAX_INT32),
    "swap_space_bytes": (0, None),
    "max_model_len": (1, MAX_INT32),
    "max_num_seqs": (1, MAX_NUM_SEQS),
    "max_num_batched_tokens": (1, MAX_INT32),
    "num_threads": (1, MAX_INT32),
    "seed": (MIN_INT64, MAX_INT64),
}
_TEXTS = (
    *("model", "device", "dtype", "quantization", "kv_cache_dtype"),
    *("allocator", "policy", "preemption", "chat_template", "record"),
)
_OPTIONAL = {
    *("device", "quantization", "num_gpu_blocks_override", "kv_cache_memory_bytes"),
    *("num_host_blocks", "swap_space_bytes", "max_model_len", "num_threads", "chat_template"),
    *("max_num_batched_tokens", "record"),
}


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
    cuda_graph_sizes: batch sizes that decode is recorded at; None is 1, 2, 4, ... 256 on a GPU
        and each up to 256 on a CPU, and () is none.
    num_host_blocks: host memory for swapped sequences, in blocks; None is none, and as many
        as the pool has with preemption by swap. Both need the allocator paged.
    swap_space_bytes: the same in bytes; num_host_blocks decides where both are given.
    max_model_len: most tokens of a sequence; None is what the model allows.
    max_num_batched_tokens: token budget of a step; None is 2048 on a GPU and 256 on a CPU, or
        max_num_seqs if that is more.
    enable_prefix_caching: None caches where the allocator can.
    kernels: operation to variant, as for `paged.use_kernel`.
    num_threads: threads of host kernels; None is the physical cores.
    seed: stands in for requests that name none.
    chat_template: a file of a Jinja template, or its text; None is the model's own.
    record: a file that every batch is written to, for `paged replay`; None is none.

    Raises ConfigError, which names the field, if one is not of its type or not as said here.
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
    swap_space_bytes: int | None = None
    max_model_len: int | None = None
    max_num_seqs: int = 256
    max_num_batched_tokens: int | None = None
    allocator: str = "paged"
    policy: str = "fcfs"
    preemption: str = "recompute"
    enable_prefix_caching: bool | None = None
    kernels: Mapping[str, str] = field(default_factory=dict[str, str])
    num_threads: int | None = None
    seed: int = 0
    chat_template: str | None = None
    record: str | None = None

    def __post_init__(self) -> None:
        self._check_types()
        for name, choices in (("dtype", DTYPES), ("kv_cache_dtype", KV_CACHE_DTYPES)):
            if getattr(self, name) not in choices:
                raise ConfigError(
                    f"{name} must be one of {', '.join(choices)}, got {getattr(self, name)!r:.40}"
                )
        find_allocator(self.allocator)
        if self.gpu_memory_utilization == 0.0:
            raise expected("gpu_memory_utilization", "above 0, and at most 1", 0.0)
        if self.allocator != "paged":
            self._check_contiguous()
        # What these two check is checked now and not after the weights are loaded.
        self.scheduler_config("continuous")
        self.cache_config(num_blocks=1, max_model_len=1)

    def _check_types(self) -> None:
        """Check each field by itself. Mutates: fields, which get their plain form."""
        for name in _TEXTS:
            if getattr(self, name) is not None or name not in _OPTIONAL:
                text(name, getattr(self, name))
        check_integers(self, _INTEGERS, optional=_OPTIONAL)
        share = number("gpu_memory_utilization", self.gpu_memory_utilization, 0.0, 1.0)
        set_field(self, "gpu_memory_utilization", share)
        if self.cuda_graph_sizes is not None:
            set_field(self, "cuda_graph_sizes", _sizes(self.cuda_graph_sizes))
        if self.enable_prefix_caching is not None:
            boolean("enable_prefix_caching", self.enable_prefix_caching)
        set_field(self, "kernels", _kernels(self.kernels))

    def _check_contiguous(self) -> None:
        """Refuse what an allocator that keeps no blocks by themselves cannot do."""
        wanted = {
            "enable_prefix_caching": bool(self.enable_prefix_caching),
            "preemption=swap": self.preemption == "swap",
            "num_host_blocks": bool(self.num_host_blocks),
            "swap_space_bytes": bool(self.swap_space_bytes),
        }
        for name, is_wanted in wanted.items():
            if is_wanted:
                raise ConfigError(f"{name} needs the allocator paged, got {self.allocator}")

    @property
    def num_step_tokens(self) -> int:
        """Token budget of a step; without a device that of a CPU."""
        if self.max_num_batched_tokens is not None:
            return self.max_num_batched_tokens
        is_gpu = self.device is not None and self.device.startswith("cuda")
        # careful: with fewer than sequences, some would wait for the others to end
        return max(GPU_STEP_TOKENS if is_gpu else CPU_STEP_TOKENS, self.max_num_seqs)

    def scheduler_config(self, batching: str) -> SchedulerConfig:
        """Options of the scheduler, for an allocator that batches so."""
        return SchedulerConfig(
            max_num_seqs=self.max_num_seqs,
            max_num_batched_tokens=self.num_step_tokens,
            policy=self.policy,
            batching=batching,
            preemption=self.preemption,
        )

    def with_swap_space(self, block_bytes: int) -> LLMConfig:
        """Name the blocks of the swap space where its bytes are named, for blocks of this size."""
        if self.swap_space_bytes is None or self.num_host_blocks is not None:
            return self
        num_host_blocks = min(self.swap_space_bytes // block_bytes, MAX_INT32)
        return replace(self, num_host_blocks=num_host_blocks)

    def host_blocks(self, num_blocks: int) -> int:
        """Return the blocks on the host of a pool of this size."""
        if self.num_host_blocks is not None:
            return self.num_host_blocks
        return num_blocks if self.preemption == "swap" else 0

    def cache_config(
        self,
        *,
        num_blocks: int,
        max_model_len: int,
        groups: tuple[GroupConfig, ...] | None = None,
    ) -> CacheConfig:
        """Options of the allocator, for a pool of this size, or for these."""
        wants_cache = self.enable_prefix_caching
        num_host_blocks = self.host_blocks(num_blocks)
        if groups is not None:
            num_blocks = sum(group.num_blocks for group in groups)
            num_host_blocks = sum(group.num_host_blocks for group in groups)
        return CacheConfig(
            num_blocks=num_blocks,
            block_size=self.block_size,
            max_model_len=max_model_len,
            allocator=self.allocator,
            enable_prefix_caching=(
                self.allocator == "paged" if wants_cache is None else wants_cache
            ),
            num_host_blocks=num_host_blocks,
            groups=groups,
            max_step_tokens=self.num_step_tokens,
        )


def _sizes(value: Any) -> tuple[int, ...]:
    """Check batch sizes; what can be read only once is read here."""
    if is_a(value, str | bytes | Mapping) or not is_a(value, Iterable):
        raise expected("cuda_graph_sizes", "batch sizes as (1, 2, 4), or None", value)
    return tuple(integer("cuda_graph_sizes", size, 1, MAX_INT32) for size in value)


def _kernels(value: Any) -> dict[str, str]:
    if not is_a(value, Mapping):
        raise expected("kernels", "a mapping of operations to variants", value)
    return {text("kernels", op): text("kernels", variant) for op, variant in value.items()}
