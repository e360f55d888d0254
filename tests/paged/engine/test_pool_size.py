"""Blocks of the KV pool: what is named, what fits, and what can be used at all."""

from __future__ import annotations

from typing import Any, NoReturn

import pytest

from paged.engine.llm_config import LLMConfig
from paged.engine.pool_size import CPU_DEFAULT_BYTES, free_host_bytes, num_pool_blocks
from paged.errors import ConfigError


def _blocks(free_bytes: int | None = None, **options: Any) -> int:
    def free() -> int:
        assert free_bytes is not None, "asked for memory that the options name"
        return free_bytes

    config = LLMConfig(block_size=16, max_num_seqs=10, **options)
    return num_pool_blocks(config, block_bytes=1000, max_model_len=100, free_bytes=free)


def test_blocks_that_are_named_are_taken() -> None:
    assert _blocks(num_blocks=1234) == 1234


def test_bytes_that_are_named_are_divided() -> None:
    assert _blocks(kv_cache_memory_bytes=10_999) == 10


def test_otherwise_the_memory_that_is_free_is_divided() -> None:
    assert _blocks(free_bytes=5_000) == 5


def test_no_more_blocks_than_all_sequences_can_fill() -> None:
    # A sequence has 7 blocks at most, for which a buddy allocator takes 8.
    assert _blocks(free_bytes=10**9) == 10 * 8


@pytest.mark.parametrize("free_bytes", [999, -5])
def test_memory_for_no_block_is_an_error(free_bytes: int) -> None:
    with pytest.raises(ConfigError, match=r"a KV block of 16 tokens takes 1000 bytes, and the"):
        _blocks(free_bytes=free_bytes)


def test_a_cpu_gives_half_of_what_is_free_and_a_gibibyte_at_most() -> None:
    assert free_host_bytes("MemTotal: 9 kB\nMemAvailable:     2000 kB\n") == 1000 * 1024
    assert free_host_bytes("MemAvailable: 99999999 kB\n") == CPU_DEFAULT_BYTES
    assert free_host_bytes("") == CPU_DEFAULT_BYTES


@pytest.mark.gpu
def test_a_gpu_gives_what_the_largest_step_leaves() -> None:
    import torch

    from paged.engine.pool_size import free_gpu_bytes

    device = torch.device("cuda", 0)
    _, total = torch.cuda.mem_get_info(device)
    step_bytes = 1 << 30

    def step() -> None:
        torch.empty(step_bytes, dtype=torch.uint8, device=device)

    idle = free_gpu_bytes(device, utilization=0.9, run_largest_step=lambda: None)
    busy = free_gpu_bytes(device, utilization=0.9, run_largest_step=step)
    assert idle - busy == step_bytes
    assert 0 < busy < 0.9 * total


def test_a_step_that_fails_is_no_measurement() -> None:
    def fail() -> NoReturn:
        raise ArithmeticError

    config = LLMConfig(block_size=16)
    with pytest.raises(ArithmeticError):
        num_pool_blocks(config, block_bytes=1, max_model_len=9, free_bytes=fail)
