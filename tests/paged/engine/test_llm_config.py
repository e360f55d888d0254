"""Options of an LLM are checked before anything is loaded."""

from __future__ import annotations

from typing import Any

import pytest

from paged.engine.llm_config import LLMConfig
from paged.errors import ConfigError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": "int8"}, "dtype must be one of auto, float32, .* got 'int8'"),
        ({"kv_cache_dtype": "fp8"}, "kv_cache_dtype must be one of .*float8_e4m3fn, got 'fp8'"),
        ({"num_gpu_blocks_override": 0}, "num_gpu_blocks_override must be at least 1 or None"),
        ({"kv_cache_memory_bytes": 0}, "kv_cache_memory_bytes must be at least 1 or None, got 0"),
        ({"cuda_graph_sizes": (4, 0)}, r"cuda_graph_sizes must each be at least 1, got \[4, 0\]"),
        ({"max_model_len": -1}, "max_model_len must be at least 1 or None, got -1"),
        ({"num_threads": 0}, "num_threads must be at least 1 or None"),
        ({"gpu_memory_utilization": 0.0}, "0 < share <= 1, got 0.0"),
        ({"gpu_memory_utilization": float("nan")}, "0 < share <= 1, got nan"),
        ({"seed": 2**63}, "seed must fit 64 bits"),
        ({"max_num_seqs": 0}, "max_num_seqs must be at least 1, got 0"),
        ({"max_num_batched_tokens": 0}, "max_num_batched_tokens must be at least 1"),
        ({"policy": "lifo"}, "policy must be one of fcfs, priority, got 'lifo'"),
        ({"preemption": "drop"}, "preemption must be one of"),
        ({"block_size": 0}, "block_size must be at least 1"),
        ({"num_host_blocks": -1}, "num_host_blocks must be at least 0"),
        ({"allocator": "slab"}, "unknown allocator 'slab'; choose from paged, reserved-max"),
        (
            {"allocator": "virtual", "enable_prefix_caching": True},
            "enable_prefix_caching needs the allocator paged, got virtual",
        ),
    ],
)
def test_what_cannot_be_served_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        LLMConfig(**options)


def test_prefixes_are_cached_where_the_allocator_can_unless_told_otherwise() -> None:
    def is_cached(**options: Any) -> bool:
        return (
            LLMConfig(**options).cache_config(num_blocks=9, max_model_len=64).enable_prefix_caching
        )

    assert is_cached()
    assert not is_cached(allocator="static")
    assert not is_cached(enable_prefix_caching=False)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 0),
        ({"preemption": "swap"}, 9),
        ({"preemption": "swap", "num_host_blocks": 3}, 3),
        ({"preemption": "swap", "allocator": "virtual"}, 0),
    ],
)
def test_the_host_pool_is_as_large_as_that_of_the_device_where_it_is_used(
    options: dict[str, Any], expected: int
) -> None:
    config = LLMConfig(**options).cache_config(num_blocks=9, max_model_len=64)
    assert config.num_host_blocks == expected


def test_the_scheduler_gets_its_options() -> None:
    options = LLMConfig(max_num_seqs=3, max_num_batched_tokens=7, policy="priority")
    config = options.scheduler_config("static")
    assert (config.max_num_seqs, config.max_num_batched_tokens) == (3, 7)
    assert (config.policy, config.batching) == ("priority", "static")
