"""Cost of hashing a prompt and finding its cached blocks, per 1,000 tokens."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.compare import Comparison, Contestant, Rival, race
from bench.load import BLOCK_SIZE, VOCAB_SIZE
from bench.peer import Peer
from bench.report import Collected
from bench.yardsticks import ChainedHash
from paged.allocator.base import Demand
from paged.allocator.paged import PagedAllocator
from paged.allocator.prefix_cache import PrefixCache
from paged.config import CacheConfig
from paged.types import IndexArray, TokenArray

NUM_TOKENS = 2000
NUM_BLOCKS = NUM_TOKENS // BLOCK_SIZE
NUM_CHUNKS = 10
ROUNDS_PER_CHUNK = 50


@pytest.mark.parametrize("kind", ["hit", "miss"])
def test_prefix_lookup(
    kind: str, benchmark: BenchmarkFixture, peer: Peer | None, collected: Collected
) -> None:
    prompts = np.random.default_rng(0).integers(0, VOCAB_SIZE, (2, NUM_TOKENS), np.int32)
    cache = _cache_of(prompts[0])
    prompt = prompts[0] if kind == "hit" else prompts[1]
    num_hit = NUM_BLOCKS if kind == "hit" else 0
    assert look_up(cache, prompt).tolist() == list(range(num_hit))
    yardstick = ChainedHash(num_tokens=NUM_TOKENS)
    rivals: dict[str, Rival] = {"yardstick": partial(yardstick.time_rounds, kind)}
    notes: dict[str, object] = {"num_tokens": NUM_TOKENS}
    if peer is not None:
        notes["vllm_hash"] = peer.ask("open_prefix", num_tokens=NUM_TOKENS)["hash"]
        # vLLM never reuses the block that holds the prompt's last token.
        assert peer.ask("time_prefix", kind=kind, num_rounds=1)["num_hit_tokens"] == [
            (NUM_TOKENS - 1) // BLOCK_SIZE * BLOCK_SIZE if num_hit else 0
        ]
        rivals["vllm"] = _vllm_rounds(peer, kind)
    raced = race(
        benchmark,
        Contestant(
            prepare=lambda: prompt,
            run=partial(look_up, cache),
            work_per_round=NUM_TOKENS / 1000,
        ),
        rivals,
        num_chunks=NUM_CHUNKS,
        rounds_per_chunk=ROUNDS_PER_CHUNK,
    )
    if raced is not None:
        ours, rival_times = raced
        comparison = Comparison(unit="1k tokens", ours=ours, rivals=rival_times, notes=notes)
        collected.keep(benchmark, comparison)


def look_up(cache: PrefixCache, tokens: TokenArray) -> IndexArray:
    """Do what an admission does to find the cached blocks of a prompt."""
    return cache.match(tokens, cache.keys_of(tokens))


def _cache_of(tokens: TokenArray) -> PrefixCache:
    """Prefix cache of an allocator that has served one prompt."""
    config = CacheConfig(
        num_blocks=4 * NUM_BLOCKS,
        block_size=BLOCK_SIZE,
        max_model_len=NUM_TOKENS,
        enable_prefix_caching=True,
    )
    allocator = PagedAllocator(config, max_rows=1)
    admission = allocator.admit(Demand(num_tokens=NUM_TOKENS, max_tokens=NUM_TOKENS, tokens=tokens))
    assert admission is not None
    allocator.grow(admission.rows, np.array([NUM_TOKENS]))
    allocator.commit(admission.rows, tokens[None])
    allocator.release(admission.rows)
    allocator.check_integrity()
    # The allocator offers no look-up that takes nothing, and this is to time just that.
    cache = allocator._cache
    assert cache is not None
    return cache


def _vllm_rounds(peer: Peer, kind: str) -> Rival:
    def time_rounds(num_rounds: int) -> list[float]:
        return peer.ask("time_prefix", kind=kind, num_rounds=num_rounds)["total_us"]

    return time_rounds
