"""Operations of our allocator on lists of blocks, one timed round after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.compare import Contestant
from bench.load import BLOCK_SIZE, MAX_MODEL_LEN, VOCAB_SIZE
from paged.allocator.base import Demand
from paged.allocator.paged import PagedAllocator
from paged.config import CacheConfig
from paged.errors import IntegrityError, check
from paged.types import IndexArray, TokenArray

OPERATIONS = ("allocate", "free", "fork", "evict", "admit", "release")


class BlockSide:
    """A paged allocator with prefix cache, and rounds of num_calls calls on it.

    allocate, free: take and give back blocks_per_call blocks of the pool.
    evict: the same as allocate, from a pool in which every block is cached.
    fork: share a sequence of blocks_per_call blocks with one more row.
    admit: hash, look up and place a new sequence, make its full blocks hittable.
    release: give a whole sequence back.
    """

    def __init__(self, *, num_blocks: int, blocks_per_call: int, num_calls: int) -> None:
        self._num_calls = num_calls
        self._count = blocks_per_call
        self._tokens_per_call = blocks_per_call * BLOCK_SIZE
        self._generator = np.random.default_rng(0)
        # Two rows a call: a fork needs a parent and a child.
        max_rows = 2 * num_calls
        config = CacheConfig(
            num_blocks=num_blocks,
            block_size=BLOCK_SIZE,
            max_model_len=MAX_MODEL_LEN,
            watermark=0.0,
            enable_prefix_caching=True,
        )
        self.allocator = PagedAllocator(config, max_rows=max_rows)
        self._pool = self.allocator.pool
        self._known: TokenArray = np.zeros((max_rows, MAX_MODEL_LEN), np.int32)
        self._taken: list[IndexArray] = []

    def contestant(self, operation: str) -> Contestant:
        """Make rounds of one operation; work is counted in blocks."""
        prepare, run = self._operations()[operation]
        work = self._num_calls * self._count
        return Contestant(prepare=prepare, run=run, work_per_round=work)

    def _operations(self) -> dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]]:
        return {
            "allocate": (self._clear, self._allocate),
            "free": (self._take, self._free),
            "fork": (self._place_parents, self._fork),
            "evict": (self._fill_cache, self._allocate),
            "admit": (self._draw, self._admit),
            "release": (self._place, self._release),
        }

    def verify(self, operation: str) -> None:
        """Run one round and raise IntegrityError unless it did what it says."""
        contestant = self.contestant(operation)
        argument = contestant.prepare()
        before = self._pool.num_evictable
        held = self._pool.num_held
        contestant.run(argument)
        work = self._num_calls * self._count
        after = self._pool.num_evictable
        expected_held = {"free": -work, "release": -work, "fork": 0}.get(operation, work)
        check(self._pool.num_held - held == expected_held, f"{operation}: wrong blocks held")
        # Eviction frees a share of the cache at once, so a little more than was asked for.
        least, most = {"evict": (-2 * work, -work), "release": (work, work)}.get(operation, (0, 0))
        check(least <= after - before <= most, f"{operation}: {after - before} blocks cached")
        if operation == "fork":
            check(int(self._pool.references.sum()) == 2 * work, "fork: blocks are not shared")
        self.check_clean()

    def check_clean(self) -> None:
        """Give everything back; raise IntegrityError unless all blocks are free then."""
        self._clear()
        self.allocator.check_integrity()
        check(self._pool.num_free == self._pool.num_blocks, "a block was lost")

    def _clear(self) -> None:
        """Give everything back and empty the prefix cache."""
        self._drop_all()
        cached = self._pool.num_evictable
        if cached:
            # Taking every block evicts every block.
            self._pool.drop(self._pool.take(self._pool.num_available))

    def _drop_all(self) -> None:
        for blocks in self._taken:
            self._pool.drop(blocks)
        self._taken = []
        self.allocator.release(self.allocator.tables.live_rows())

    def _allocate(self, _: None) -> None:
        take, count = self._pool.take, self._count
        self._taken = [take(count) for _ in range(self._num_calls)]

    def _take(self) -> None:
        self._clear()
        self._allocate(None)

    def _free(self, _: None) -> None:
        for blocks in self._taken:
            self._pool.drop(blocks)
        self._taken = []

    def _draw(self) -> TokenArray:
        self._clear()
        shape = (self._num_calls, self._tokens_per_call)
        return self._generator.integers(0, VOCAB_SIZE, shape, dtype=np.int32)

    def _admit(self, prompts: TokenArray) -> None:
        for tokens in prompts:
            self._admit_one(tokens, num_sequences=1)

    def _admit_one(self, tokens: TokenArray, *, num_sequences: int) -> IndexArray:
        count = len(tokens)
        demand = Demand(
            num_tokens=count, max_tokens=count, tokens=tokens, num_sequences=num_sequences
        )
        admission = self.allocator.admit(demand)
        if admission is None:
            raise IntegrityError("the pool of a benchmark must never be full")
        lead = admission.rows[:1]
        self._known[lead[0], :count] = tokens
        self.allocator.grow(lead, np.array([count]))
        self.allocator.commit(lead, self._known)
        return admission.rows

    def _place(self) -> None:
        self._admit(self._draw())

    def _release(self, _: None) -> None:
        for row in self.allocator.tables.live_rows()[:, None]:
            self.allocator.release(row)

    def _place_parents(self) -> list[IndexArray]:
        return [self._admit_one(tokens, num_sequences=2) for tokens in self._draw()]

    def _fork(self, groups: list[IndexArray]) -> None:
        for rows in groups:
            self.allocator.fork(int(rows[0]), rows[1:], self._tokens_per_call)

    def _fill_cache(self) -> None:
        self._drop_all()
        while self._pool.num_free:
            tokens = self._generator.integers(0, VOCAB_SIZE, self._tokens_per_call, np.int32)
            self._admit_one(tokens, num_sequences=1)
            self._drop_all()
