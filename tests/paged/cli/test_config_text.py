"""A configuration in one word: what it changes, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from paged.cli.config_text import parse_config
from paged.engine.llm_config import LLMConfig
from paged.errors import ConfigError, KernelSourceError

BASE = LLMConfig(model="tiny")


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("default", {}),
        ("attention=v2", {"kernels": {"attention": "v2"}}),
        (
            "attention=v1, write_kv=reference,allocator=virtual",
            {"kernels": {"attention": "v1", "write_kv": "reference"}, "allocator": "virtual"},
        ),
        ("max-num-batched-tokens=7", {"max_num_batched_tokens": 7}),
        ("enable_prefix_caching=False", {"enable_prefix_caching": False}),
        ("enable_prefix_caching=none,num_threads=None", {}),
        ("gpu_memory_utilization=0.5", {"gpu_memory_utilization": 0.5}),
        ("kv_cache_memory_bytes=2MiB", {"kv_cache_memory_bytes": 2 << 20}),
        ("dtype=float32,dtype=float32", {"dtype": "float32"}),
    ],
)
def test_a_text_changes_what_it_names(text: str, changes: dict[str, Any]) -> None:
    assert parse_config(text, BASE) == replace(BASE, **changes)


def test_a_kernel_stands_beside_those_of_the_base() -> None:
    base = replace(BASE, kernels={"attention": "v0", "write_kv": "simple"})
    assert parse_config("attention=v2", base).kernels == {"attention": "v2", "write_kv": "simple"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"expected NAME=VALUE,\.\.\. or default, got ''"),
        ("attention", "expected NAME=VALUE"),
        ("dtype=", "expected NAME=VALUE"),
        ("dtype=float32,", "expected NAME=VALUE"),
        (
            "kernels=v1",
            "unknown option 'kernels'; expected an operation .*attention.* or an option",
        ),
        ("cuda_graph_sizes=4", "unknown option 'cuda_graph_sizes'"),
        ("num_threads=x", "num_threads: expected an integer, got 'x'"),
        ("num_threads=0", "num_threads: expected an integer from 1"),
        ("block_size=none", "block_size: expected an integer, got 'none'"),
        ("enable_prefix_caching=yes", "enable_prefix_caching: expected true or false, got 'yes'"),
        ("kv_cache_memory_bytes=2 apples", "kv_cache_memory_bytes: expected an amount of memory"),
        ("dtype=float32,dtype=bfloat16", "dtype has two values"),
        ("dtype=float7", "dtype must be one of"),
    ],
)
def test_what_means_nothing_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_config(text, BASE)


def test_a_kernel_that_is_not_there_is_refused() -> None:
    with pytest.raises(KernelSourceError, match="v77"):
        parse_config("attention=v77", BASE)
