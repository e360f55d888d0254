"""Blocks of the KV pool: what is named, what fits, and what can be used at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import pytest

from paged.engine.llm_config import LLMConfig
from paged.engine.pool_size import (
    CPU_DEFAULT_BYTES,
    WidestSteps,
    free_gpu_bytes,
    free_host_bytes,
    num_pool_blocks,
)
from paged.errors import ConfigError


def _blocks(free_bytes: int | None = None, **options: Any) -> int:
    def free() -> int:
        assert free_bytes is not None, "asked for memory that the options name"
        return free_bytes

    config = LLMConfig(block_size=16, max_num_seqs=10, **options)
    return num_pool_blocks(config, block_bytes=1000, max_model_len=100, free_bytes=free)


def test_blocks_that_are_named_are_taken_whatever_else_is_named() -> None:
    assert _blocks(num_gpu_blocks_override=1234) == 1234
    assert _blocks(num_gpu_blocks_override=1234, kv_cache_memory_bytes=10_999) == 1234


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


@dataclass(slots=True)
class _Memory:
    """A device of 1,000 bytes, of which others have 50; tensors come and go by hand."""

    total_bytes: int = 1000
    held_bytes: int = 0
    peak_bytes: int = 0

    def hold(self, num_bytes: int) -> None:
        self.held_bytes += num_bytes
        self.peak_bytes = max(self.peak_bytes, self.held_bytes)

    def tensor_bytes(self) -> int:
        return self.held_bytes

    def outside_bytes(self) -> int:
        return 50

    def rise_bytes(self, run: Callable[[], object]) -> int:
        self.peak_bytes = before = self.held_bytes
        run()
        return self.peak_bytes - before


def _free(utilization: float, weight_bytes: int = 300) -> tuple[int, _Memory]:
    """Measure an engine that keeps 7 bytes beside a pool of 40, and takes 100 or 20 for a step."""
    memory = _Memory(held_bytes=weight_bytes)

    def step(num_bytes: int) -> None:
        memory.hold(num_bytes)
        memory.hold(-num_bytes)

    def make_steps() -> WidestSteps:
        memory.hold(7 + 40)
        return WidestSteps(kv_bytes=40, runs=(lambda: step(100), lambda: step(20)))

    return free_gpu_bytes(memory, utilization=utilization, make_steps=make_steps), memory


def test_a_gpu_gives_what_others_weights_and_the_widest_steps_leave() -> None:
    free_bytes, _ = _free(0.9)
    assert free_bytes == 900 - 50 - 300 - 7 - (100 + 20)


def test_less_of_a_gpu_is_so_much_less_for_the_pool() -> None:
    assert _free(0.9)[0] - _free(0.6)[0] == 300


def test_a_share_that_leaves_nothing_is_an_error_that_says_where_it_went() -> None:
    assert _free(0.478)[0] == 1
    with pytest.raises(ConfigError) as caught:
        _free(0.477)
    for part in ("=0.477 allows 477 of 1,000 bytes", "model takes 300", "step 127", "others 50"):
        assert part in str(caught.value)
    assert "give a larger share, or fewer max_num_batched_tokens or max_num_seqs" in str(
        caught.value
    )


def test_a_step_that_fails_is_no_measurement() -> None:
    def fail() -> NoReturn:
        raise ArithmeticError

    config = LLMConfig(block_size=16)
    with pytest.raises(ArithmeticError):
        num_pool_blocks(config, block_bytes=1, max_model_len=9, free_bytes=fail)
