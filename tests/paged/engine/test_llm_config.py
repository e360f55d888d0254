"""Options of an LLM are checked before anything is loaded."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from paged.engine.llm_config import LLMConfig
from paged.errors import ConfigError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": "int8"}, "dtype must be one of auto, float32, .* got 'int8'"),
        ({"kv_cache_dtype": "fp8"}, "kv_cache_dtype must be one of .*float8_e4m3fn, got 'fp8'"),
        (
            {"num_gpu_blocks_override": 0},
            "num_gpu_blocks_override: expected an integer from 1 to .*, got 0",
        ),
        (
            {"kv_cache_memory_bytes": 0},
            "kv_cache_memory_bytes: expected an integer at least 1, got 0",
        ),
        ({"cuda_graph_sizes": (4, 0)}, "cuda_graph_sizes: expected an integer from 1 to .*, got 0"),
        ({"max_model_len": -1}, "max_model_len: expected an integer from 1 .* got -1"),
        ({"num_threads": 0}, "num_threads: expected an integer from 1 to"),
        (
            {"gpu_memory_utilization": 0.0},
            "gpu_memory_utilization: expected above 0, and at most 1",
        ),
        (
            {"gpu_memory_utilization": float("nan")},
            "gpu_memory_utilization: expected a number .*, got nan",
        ),
        ({"seed": 2**63}, f"seed: expected an integer from -{2**63} to {2**63 - 1}, got"),
        ({"max_num_seqs": 0}, "max_num_seqs: expected an integer from 1 to 65536, got 0"),
        ({"max_num_seqs": 10**7}, "max_num_seqs: expected an integer from 1 to 65536, got 10000"),
        (
            {"max_num_batched_tokens": 0},
            "max_num_batched_tokens: expected an integer from 1 to 2147483647",
        ),
        ({"policy": "lifo"}, "policy must be one of fcfs, priority, got 'lifo'"),
        ({"preemption": "drop"}, "preemption must be one of"),
        ({"block_size": 0}, "block_size: expected an integer from 1 to 2147483647"),
        ({"num_host_blocks": -1}, "num_host_blocks: expected an integer from 0"),
        ({"allocator": "slab"}, "unknown allocator 'slab'; choose from paged, reserved-max"),
        (
            {"allocator": "virtual", "enable_prefix_caching": True},
            "enable_prefix_caching needs the allocator paged, got virtual",
        ),
        (
            {"allocator": "static", "preemption": "swap"},
            "preemption=swap needs the allocator paged, got static",
        ),
        (
            {"allocator": "virtual", "num_host_blocks": 4},
            "num_host_blocks needs the allocator paged, got virtual",
        ),
        (
            {"allocator": "virtual", "swap_space_bytes": 4},
            "swap_space_bytes needs the allocator paged, got virtual",
        ),
    ],
)
def test_what_cannot_be_served_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        LLMConfig(**options)


INTEGERS = (
    *("block_size", "num_gpu_blocks_override", "kv_cache_memory_bytes", "num_host_blocks"),
    *(
        "swap_space_bytes",
        "max_model_len",
        "max_num_seqs",
        "max_num_batched_tokens",
        "num_threads",
        "seed",
    ),
)
TEXTS = (
    *("model", "device", "dtype", "quantization", "kv_cache_dtype"),
    *("allocator", "policy", "preemption", "chat_template"),
)
OF_NO_TYPE: list[tuple[str, object]] = [
    *((name, value) for name in INTEGERS for value in (1.5, 16.0, True, "8", float("nan"))),
    *((name, value) for name in TEXTS for value in (5, True, ["auto"], b"auto")),
    *((name, None) for name in ("block_size", "max_num_seqs", "seed")),
    *((name, None) for name in ("model", "dtype", "allocator", "policy", "preemption")),
    *(("gpu_memory_utilization", value) for value in ("a", None, True, 1.5)),
    *(("cuda_graph_sizes", value) for value in (5, "1,2", [1.5], ["a"], [True], [2**31], {1: 2})),
    *(("enable_prefix_caching", value) for value in ("no", 1)),
    *(("kernels", value) for value in (5, "attention=host", None, {"attention": 5}, {5: "v2"})),
]


@pytest.mark.parametrize(("name", "value"), OF_NO_TYPE)
def test_a_value_of_another_type_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=f"^{name}: expected .*, got "):
        LLMConfig(**{name: value})


def test_values_are_kept_in_their_plain_form() -> None:
    kernels = {"attention": "v2"}
    config = LLMConfig(
        block_size=cast(Any, np.int64(8)),
        gpu_memory_utilization=1,
        cuda_graph_sizes=cast(Any, iter([4, np.int32(2)])),
        kernels=kernels,
    )
    kernels["attention"] = "v0"
    assert repr(config.block_size) == "8"
    assert repr(config.gpu_memory_utilization) == "1.0"
    assert repr(config.cuda_graph_sizes) == "(4, 2)"
    assert config.kernels == {"attention": "v2"}


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
        ({"allocator": "virtual"}, 0),
        ({"allocator": "virtual", "num_host_blocks": 0}, 0),
    ],
)
def test_the_host_pool_is_as_large_as_that_of_the_device_where_it_is_used(
    options: dict[str, Any], expected: int
) -> None:
    config = LLMConfig(**options).cache_config(num_blocks=9, max_model_len=64)
    assert config.num_host_blocks == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"swap_space_bytes": 100}, 3),
        ({"swap_space_bytes": 0, "preemption": "swap"}, 0),
        ({"swap_space_bytes": 100, "num_host_blocks": 2}, 2),
        ({"preemption": "swap"}, 9),
    ],
)
def test_bytes_of_swap_space_become_whole_blocks(options: dict[str, Any], expected: int) -> None:
    assert LLMConfig(**options).with_swap_space(block_bytes=32).host_blocks(9) == expected


def test_the_scheduler_gets_its_options() -> None:
    options = LLMConfig(max_num_seqs=3, max_num_batched_tokens=7, policy="priority")
    config = options.scheduler_config("static")
    assert (config.max_num_seqs, config.max_num_batched_tokens) == (3, 7)
    assert (config.policy, config.batching) == ("priority", "static")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 256),
        ({"device": "cpu"}, 256),
        ({"device": "cuda:1"}, 2048),
        ({"max_num_seqs": 300}, 300),
        ({"device": "cuda", "max_num_seqs": 3000}, 3000),
        ({"device": "cuda", "max_num_batched_tokens": 9}, 9),
        ({"max_num_batched_tokens": 9}, 9),
    ],
)
def test_the_budget_of_a_step_is_that_of_the_device_and_of_all_sequences(
    options: dict[str, Any], expected: int
) -> None:
    config = LLMConfig(**options)
    assert config.scheduler_config("continuous").max_num_batched_tokens == expected
    assert config.cache_config(num_blocks=9, max_model_len=64).max_step_tokens == expected
