"""Make the blocks of running sequences hittable as they fill up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from paged.allocator.block_pool import BlockPool
from paged.allocator.block_table import BlockTables
from paged.allocator.prefix_cache import ROOT_SERIAL, PrefixCache
from paged.types import IndexArray, TokenArray

# More tokens than any sequence has: a chain that is closed registers nothing further.
_CLOSED = 1 << 40
STEPS_PER_PASS = 8
"""Steps after which a block filled by decoding is hittable at the latest."""


@dataclass(slots=True)
class _Run:
    """New full blocks of one row, from its block `first` on."""

    row: int
    first: int
    keys: IndexArray
    blocks: IndexArray
    content: TokenArray


class PrefixChains:
    """How far each row's leading blocks are registered in the prefix cache.

    A row's chain closes when one of its blocks cannot be the cached one for its
    content; what follows it could never be found, so it is not registered either.
    """

    def __init__(self, tables: BlockTables, pool: BlockPool, cache: PrefixCache) -> None:
        self._tables = tables
        self._pool = pool
        self._cache = cache
        # Tokens at which the row's next block is full, so that one comparison finds the
        # rows that have filled one. A row whose chain never began has nothing to register.
        self._next_full: IndexArray = np.full(tables.max_rows, _CLOSED, np.int64)
        # invariant: key and serial of the last registered block, those of the root before.
        self._key: IndexArray = np.zeros(tables.max_rows, np.int64)
        self._serial: IndexArray = np.zeros(tables.max_rows, np.int64)
        self._known_keys: list[IndexArray | None] = [None] * tables.max_rows
        # Rows whose prompt is not registered as a whole yet, with its length in tokens.
        self._prompts: dict[int, int] = {}
        # Rows with tokens that the step in flight has yet to write.
        self._in_flight: list[IndexArray] = []
        self._num_commits = 0
        self._tokens: TokenArray | None = None
        # Arrays without axes: numpy works with them twice as fast as with Python's numbers.
        self._size, self._one = np.array(tables.block_size), np.array(1)
        self._width = np.array(tables.max_blocks_per_row)

    def admit(
        self, row: int, num_registered: int, num_tokens: int, known_keys: IndexArray | None
    ) -> None:
        """Begin the chain of a request that is about to compute num_tokens tokens.

        Its first num_registered blocks are cached already. known_keys: as for `start`.
        """
        self.start(row, num_registered, known_keys)
        self._prompts[row] = num_tokens

    def start(self, row: int, num_registered: int, known_keys: IndexArray | None = None) -> None:
        """Begin a chain whose first num_registered blocks are cached already.

        known_keys: keys of its first blocks, if they were computed before.
        """
        self._known_keys[row] = known_keys
        self._next_full[row] = (num_registered + 1) * self._tables.block_size
        self._key[row] = 0
        self._serial[row] = ROOT_SERIAL
        if num_registered:
            last = int(self._tables.ids[row, num_registered - 1])
            self._key[row] = self._cache.key[last]
            self._serial[row] = self._cache.serial_of(last)

    def branch(self, parent: int, children: IndexArray, num_blocks: int) -> None:
        """Begin the chains of children that share num_blocks full blocks of parent."""
        next_full = int(self._next_full[parent])
        for child in children.tolist():
            if next_full == _CLOSED:
                self.close(child)
            else:
                self.start(child, min(next_full // self._tables.block_size - 1, num_blocks))

    def close(self, row: int) -> None:
        """Register no more blocks of this row."""
        self._next_full[row] = _CLOSED

    def write(self, rows: IndexArray) -> None:
        """Take note that the next step writes these rows."""
        self._in_flight.append(rows)

    def commit(self, rows: IndexArray, tokens: TokenArray) -> None:
        """Take note that the step in flight, which wrote rows, has run; register what is due.

        Prompts are due at once, for others may begin alike. What decoding fills is due
        every few steps, when one pass over all rows finds many blocks, or at `settle`.
        """
        self._tokens = tokens
        self._in_flight.clear()
        self._num_commits += 1
        if self._num_commits % STEPS_PER_PASS == 0:
            self.register(rows, tokens)
        elif self._prompts:
            self._register_runs(self._due_prompts(), tokens)

    def abandon(self) -> None:
        """Take note that the step in flight has failed: close the chains of its rows."""
        for rows in self._in_flight:
            self._next_full[rows] = _CLOSED
        self._in_flight.clear()

    def _due_prompts(self) -> list[int]:
        due: list[int] = []
        for row, num_prompt_tokens in list(self._prompts.items()):
            if self._is_due(row):
                due.append(row)
            if self._tables.num_tokens.item(row) >= num_prompt_tokens:
                del self._prompts[row]
        return due

    def settle(self, rows: IndexArray) -> None:
        """Register all that rows have filled, before they are released or forked."""
        in_flight = {row for written in self._in_flight for row in written.tolist()}
        due: list[int] = []
        for row in rows.tolist():
            self._prompts.pop(row, None)
            if row not in in_flight and self._is_due(row):
                due.append(row)
        if due and self._tokens is not None:
            self._register_runs(due, self._tokens)

    def _is_due(self, row: int) -> bool:
        return self._tables.num_tokens.item(row) >= self._next_full.item(row)

    def register(self, rows: IndexArray, tokens: TokenArray) -> None:
        """Make the blocks that rows have filled hittable, dropping duplicates.

        Mutates: the cache; block tables, where another block with the same content is
        cached already. O(full blocks) in numpy, in Python only for duplicates.
        """
        num_tokens = self._tables.num_tokens[rows]
        next_full = self._next_full[rows]
        which = (num_tokens >= next_full).nonzero()[0]
        rows, next_full = rows[which], next_full[which]
        is_run = num_tokens[which] - next_full >= self._size
        if np.count_nonzero(is_run):
            self._register_runs(rows[is_run].tolist(), tokens)
            rows, next_full = rows[~is_run], next_full[~is_run]
        if len(rows):
            self._register_singles(rows, next_full, tokens)

    def _register_singles(
        self, rows: IndexArray, next_full: IndexArray, tokens: TokenArray
    ) -> None:
        """Register one new block of each of several rows: decoding crossed a border."""
        index = next_full // self._size
        index -= self._one
        # One index into all blocks of all rows is faster than one for each axis.
        by_block = tokens.reshape(-1, self._tables.block_size)
        content = by_block.take(rows * (len(by_block) // len(tokens)) + index, axis=0)
        blocks = self._tables.ids.take(rows * self._width + index).astype(np.int64)
        keys = self._cache.key_parts(content, index)
        keys += self._key[rows]
        self._next_full[rows] = next_full + self._size
        serial = self._cache.next_serial
        if self._cache.insert_new(keys, blocks, content, self._serial[rows]):
            self._key[rows] = keys
            self._serial[rows] = np.arange(serial, serial + len(rows))
            return
        for i, row in enumerate(rows.tolist()):
            self._register_one(row, int(index[i]), int(keys[i]), content[i])

    def _register_runs(self, rows: list[int], tokens: TokenArray) -> None:
        """Register all new blocks of rows: prompts were computed, or rows settle."""
        runs = [self._take_run(row, tokens) for row in rows]
        if not runs or self._insert(runs):
            return
        for run in runs:
            if len(runs) == 1 or not self._insert([run]):
                self._register_each(run)

    def _take_run(self, row: int, tokens: TokenArray) -> _Run:
        """Say what is new in a row, and expect that it will be registered."""
        size = self._tables.block_size
        first = self._next_full.item(row) // size - 1
        full = self._tables.num_tokens.item(row) // size
        content = tokens[row, first * size : full * size].reshape(full - first, size)
        known = self._known_keys[row]
        if known is not None and full <= len(known):
            keys = known[first:full]
        else:
            keys = np.add.accumulate(self._cache.key_parts(content, slice(first, full)))
            keys += self._key[row]
        self._next_full[row] = (full + 1) * size
        blocks = self._tables.ids[row, first:full].astype(np.int64)
        return _Run(row, first, keys, blocks, content)

    def _insert(self, runs: list[_Run]) -> bool:
        """Register runs at once, or change nothing and say False if a key is taken."""
        run, serial = runs[0], self._cache.next_serial
        keys, blocks, content = run.keys, run.blocks, run.content
        if len(runs) > 1:
            keys = np.concatenate([run.keys for run in runs])
            blocks = np.concatenate([run.blocks for run in runs])
            content = np.concatenate([run.content for run in runs])
        # Within a run the parent is the block before it in this very list.
        parents = np.arange(serial - 1, serial - 1 + len(blocks))
        start = 0
        for run in runs:
            parents[start] = self._serial[run.row]
            start += len(run.blocks)
        if not self._cache.insert_new(keys, blocks, content, parents):
            return False
        for run in runs:
            serial += len(run.blocks)
            self._key[run.row] = run.keys[-1]
            self._serial[run.row] = serial - 1
        return True

    def _register_each(self, run: _Run) -> None:
        """Register a run block by block, until its chain closes."""
        for i, key in enumerate(run.keys.tolist()):
            if self._next_full[run.row] != _CLOSED:
                self._register_one(run.row, run.first + i, key, run.content[i])

    def _register_one(self, row: int, index: int, key: int, content: TokenArray) -> None:
        """Register a block whose key may be taken, or close the chain of its row."""
        other = self._cache.find(key)
        if other is not None and not self._share(row, index, other, content):
            self.close(row)
            return
        block = self._cache.find(key)
        if block is None:
            block = int(self._tables.ids[row, index])
            parents = self._serial[row : row + 1]
            self._cache.insert_new(np.array([key]), np.array([block]), content[None], parents)
        self._key[row] = key
        self._serial[row] = self._cache.serial_of(block)

    def _share(self, row: int, index: int, other: int, content: TokenArray) -> bool:
        """Use the cached block for this content, or free its key if it is stale.

        False if the key belongs to other content that is in use, or if the row's own
        block has more holders whose tables would have to change too.
        """
        own = int(self._tables.ids[row, index])
        if self._cache.is_same(other, content, int(self._serial[row])):
            if self._pool.references[own] > 1:
                return False
            self._pool.retain(np.array([other]))
            self._tables.ids[row, index] = other
            self._pool.drop(np.array([own]))
            return True
        if self._pool.references[other] > 0:
            return False
        self._pool.discard(np.array([other]))
        return True
