"""The simplest code that does a benchmark's work, to make machines comparable.

A yardstick does the irreducible part and nothing else: no checks, no preemption, no
sharing. It is measured in the same rounds as the real thing.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from bench.load import BLOCK_SIZE, MAX_MODEL_LEN, VOCAB_SIZE, SaturatedLoad
from paged.types import TokenArray


def time_rounds(
    prepare: Callable[[], Any], run: Callable[[Any], Any], num_rounds: int
) -> list[float]:
    """Time rounds of run(prepare()), without prepare, in microseconds."""
    rounds_us: list[float] = []
    for _ in range(num_rounds):
        argument = prepare()
        started = perf_counter()
        run(argument)
        rounds_us.append((perf_counter() - started) * 1e6)
    return rounds_us


def chained_keys(tokens: TokenArray) -> list[int]:
    """Key of each full block: Python's own hash of its tokens and of the key before it."""
    data, width = tokens.tobytes(), BLOCK_SIZE * tokens.itemsize
    keys: list[int] = []
    key = 0
    for start in range(0, len(data) - width + 1, width):
        key = hash((key, data[start : start + width]))
        keys.append(key)
    return keys


class ArrayStep:
    """A decode step in numpy: store a token per row, cross blocks, find the next slots."""

    def __init__(self, num_running: int) -> None:
        self._rows = np.arange(num_running)
        self._tokens = np.zeros((num_running, MAX_MODEL_LEN), np.int32)
        self._tables = np.zeros((num_running, MAX_MODEL_LEN // BLOCK_SIZE), np.int32)
        # Spread over the block, as in a real batch; short, so that no row ever fills up.
        self._lengths = self._rows % BLOCK_SIZE
        self._drawn = np.zeros(num_running, np.int32)
        self._next_block = 0

    def run(self, _: None = None) -> None:
        """Run one step."""
        self._tokens[self._rows, self._lengths] = self._drawn
        self._lengths = (self._lengths + 1) % MAX_MODEL_LEN
        crossing = np.flatnonzero(self._lengths % BLOCK_SIZE == 0)
        columns = self._lengths[crossing] // BLOCK_SIZE
        self._tables[crossing, columns] = np.arange(len(crossing)) + self._next_block
        self._next_block = (self._next_block + len(crossing)) % 1_000_000
        blocks = self._tables[self._rows, self._lengths // BLOCK_SIZE]
        self.slots = blocks * BLOCK_SIZE + self._lengths % BLOCK_SIZE

    def time_rounds(self, num_rounds: int) -> list[float]:
        """Time steps, in microseconds."""
        return time_rounds(lambda: None, self.run, num_rounds)


class ListPool:
    """Blocks in plain lists and dicts, without anything shared, checked or verified."""

    def __init__(self, *, num_blocks: int, blocks_per_call: int, num_calls: int) -> None:
        self._free = list(range(num_blocks))
        self._references = [1] * num_blocks
        self._count = blocks_per_call
        self._calls = range(num_calls)
        shape = (num_calls, blocks_per_call * BLOCK_SIZE)
        self._prompts = np.random.default_rng(0).integers(0, VOCAB_SIZE, shape, np.int32)
        self._taken: list[list[int]] = []
        self._index: dict[int, int] = {}

    def time_rounds(self, operation: str, num_rounds: int) -> list[float]:
        """Time rounds of calls of one operation, in microseconds."""
        prepare, run = {
            "allocate": (self._give_back, self._allocate),
            "free": (self._take, self._release),
            "fork": (self._take, self._fork),
            "evict": (self._fill_index, self._evict),
            "admit": (self._empty_index, self._admit),
            "release": (self._take, self._release),
        }[operation]
        return time_rounds(prepare, lambda _: run(), num_rounds)

    def _give_back(self) -> None:
        if self._taken:
            self._release()

    def _take(self) -> None:
        self._give_back()
        self._allocate()

    def _fill_index(self) -> None:
        self._give_back()
        self._index = dict(zip(self._free, self._free, strict=True))

    def _empty_index(self) -> None:
        self._give_back()
        self._index = {}

    def _admit(self) -> None:
        self._allocate()
        for blocks, prompt in zip(self._taken, self._prompts, strict=True):
            self._index.update(zip(chained_keys(prompt), blocks, strict=True))

    def _allocate(self) -> None:
        free, count = self._free, self._count
        for _ in self._calls:
            self._taken.append(free[-count:])
            del free[-count:]

    def _release(self) -> None:
        for blocks in self._taken:
            self._free += blocks
        self._taken = []

    def _fork(self) -> None:
        references = self._references
        for blocks in self._taken:
            for block in blocks:
                references[block] += 1

    def _evict(self) -> None:
        self._allocate()
        for blocks in self._taken:
            for block in blocks:
                del self._index[block]


class ChainedHash:
    """Look a prompt up by the chained hash of each block, without verifying a hit."""

    def __init__(self, *, num_tokens: int) -> None:
        tokens = np.random.default_rng(0).integers(0, VOCAB_SIZE, (2, num_tokens), np.int32)
        self._prompts = {"hit": tokens[0], "miss": tokens[1]}
        self._block_of = {key: block for block, key in enumerate(chained_keys(tokens[0]))}

    def look_up(self, tokens: TokenArray) -> list[int]:
        """Blocks of the longest cached run."""
        found: list[int] = []
        for key in chained_keys(tokens):
            block = self._block_of.get(key)
            if block is None:
                break
            found.append(block)
        return found

    def time_rounds(self, kind: str, num_rounds: int) -> list[float]:
        """Time look-ups of the cached prompt (`hit`) or of another (`miss`), in us."""
        return time_rounds(lambda: self._prompts[kind], self.look_up, num_rounds)


def simulate_naively(load: SaturatedLoad) -> int:
    """Run a saturated load in a plain Python loop; return the number of steps.

    First come, first served; a request waits until the pool has room for all its tokens,
    so nothing is ever preempted.
    """
    waiting = list(zip(*load.lengths(), strict=True))[::-1]
    num_free, num_steps = load.num_blocks, 0
    running: list[list[int]] = []
    while waiting or running:
        while waiting and len(running) < load.max_running:
            need = -(-sum(waiting[-1]) // BLOCK_SIZE)
            if need > num_free:
                break
            num_free -= need
            running.append([waiting.pop()[1], need])
        for state in running:
            state[0] -= 1
        num_free += sum(need for left, need in running if left == 0)
        running = [state for state in running if state[0]]
        num_steps += 1
    return num_steps
