"""vLLM's own block pool, KV manager and prefix cache, one timed call after the other.

Runs only where vLLM is installed.
"""

# vLLM lives in another environment than the type checker's.
# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from vllm.config import ModelConfig
from vllm.v1.request import Request

from bench.load import BLOCK_SIZE, VOCAB_SIZE
from bench.vllm_scheduler import VllmSide


class BlockPeer:
    """vLLM's block pool and KV manager, one call for each list of blocks."""

    def __init__(self, model: ModelConfig, *, num_blocks: int, blocks_per_call: int) -> None:
        self._side = VllmSide(model, num_blocks=num_blocks, max_running=256, is_caching=True)
        self._manager = self._side.scheduler.kv_cache_manager
        self._pool = self._manager.block_pool
        self._tokens_per_call = blocks_per_call * BLOCK_SIZE
        self._blocks_per_call = blocks_per_call
        self._generator = np.random.default_rng(0)

    def time_round(self, operation: str, num_calls: int) -> float:
        """Time num_calls calls of one operation, in microseconds, and undo them."""
        return getattr(self, f"_time_{operation}")(num_calls)

    def _time(self, call: Callable[[Any], Any], arguments: list[Any]) -> tuple[float, list[Any]]:
        started = perf_counter()
        results = [call(argument) for argument in arguments]
        return (perf_counter() - started) * 1e6, results

    def _take(self, num_calls: int) -> list[Any]:
        return [self._pool.get_new_blocks(self._blocks_per_call) for _ in range(num_calls)]

    def _requests(self, num_calls: int) -> list[Request]:
        tokens = self._generator.integers(0, VOCAB_SIZE, (num_calls, self._tokens_per_call))
        requests = [self._side.make_request(row, 1) for row in tokens.tolist()]
        for request in requests:
            request.block_hashes.clear()
        return requests

    def _admit(self, request: Request) -> Any:
        """Hash, look up, place and register a request whose hashes were cleared."""
        request.update_block_hashes()
        _, num_hit_tokens, _ = self._manager.get_computed_blocks(request)
        if num_hit_tokens:
            raise AssertionError(f"random tokens hit {num_hit_tokens} cached tokens")
        return self._manager.allocate_slots(request, self._tokens_per_call)

    def _time_allocate(self, num_calls: int) -> float:
        elapsed_us, taken = self._time(
            self._pool.get_new_blocks, [self._blocks_per_call] * num_calls
        )
        for blocks in taken:
            self._pool.free_blocks(blocks)
        return elapsed_us

    def _time_free(self, num_calls: int) -> float:
        return self._time(self._pool.free_blocks, self._take(num_calls))[0]

    def _time_fork(self, num_calls: int) -> float:
        taken = self._take(num_calls)
        elapsed_us, _ = self._time(self._pool.touch, taken)
        for blocks in taken * 2:
            self._pool.free_blocks(blocks)
        return elapsed_us

    def _time_evict(self, num_calls: int) -> float:
        # What the last round took came back uncached, at the front of the queue.
        num_cached = len(self._pool.cached_block_hash_to_block)
        missing = (self._pool.get_num_free_blocks() - num_cached) // self._blocks_per_call
        for request in self._requests(missing):
            self._admit(request)
            self._manager.free(request)
        num_cached = len(self._pool.cached_block_hash_to_block)
        elapsed_us = self._time_allocate(num_calls)
        num_evicted = num_cached - len(self._pool.cached_block_hash_to_block)
        if num_evicted != num_calls * self._blocks_per_call:
            raise AssertionError(f"expected every block taken to be evicted, got {num_evicted}")
        return elapsed_us

    def _time_admit(self, num_calls: int) -> float:
        requests = self._requests(num_calls)
        elapsed_us, _ = self._time(self._admit, requests)
        for request in requests:
            self._manager.free(request)
        self._manager.reset_prefix_cache()
        return elapsed_us

    def _time_release(self, num_calls: int) -> float:
        requests = self._requests(num_calls)
        for request in requests:
            self._admit(request)
        elapsed_us, _ = self._time(self._manager.free, requests)
        self._manager.reset_prefix_cache()
        return elapsed_us


class PrefixPeer:
    """Hash a prompt and look its blocks up in vLLM's prefix cache."""

    def __init__(self, model: ModelConfig, *, num_tokens: int) -> None:
        num_blocks = 4 * num_tokens // BLOCK_SIZE
        side = VllmSide(model, num_blocks=num_blocks, max_running=256, is_caching=True)
        self.hash_name = side.hash_name
        self._manager = side.scheduler.kv_cache_manager
        generator = np.random.default_rng(0)
        tokens = generator.integers(0, VOCAB_SIZE, (2, num_tokens)).tolist()
        cached = side.make_request(tokens[0], 1)
        self._manager.allocate_slots(cached, num_tokens)
        self._manager.free(cached)
        self._requests = {"hit": side.make_request(tokens[0], 1)}
        self._requests["miss"] = side.make_request(tokens[1], 1)

    def time_round(self, kind: str) -> dict[str, float]:
        """Time hash and look-up of the whole prompt, and the look-up alone."""
        request = self._requests[kind]
        request.block_hashes.clear()
        started = perf_counter()
        request.update_block_hashes()
        hashed = perf_counter()
        _, num_hit_tokens, _ = self._manager.get_computed_blocks(request)
        done = perf_counter()
        return {
            "total_us": (done - started) * 1e6,
            "lookup_us": (done - hashed) * 1e6,
            "num_hit_tokens": num_hit_tokens,
        }
