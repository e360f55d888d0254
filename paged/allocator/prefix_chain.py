"""Make the blocks of running sequences hittable as they fill up."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from paged.allocator.block_pool import BlockPool
from paged.allocator.block_table import BlockTables
from paged.allocator.prefix_cache import PrefixCache
from paged.types import IndexArray, TokenArray

# More tokens than any sequence has: a chain that is closed registers nothing further.
_CLOSED = 1 << 40


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
        # rows that have filled one.
        self._next_full: IndexArray = np.zeros(tables.max_rows, np.int64)
        # invariant: the key of the last registered block, 0 before the first.
        self._key: IndexArray = np.zeros(tables.max_rows, np.int64)

    def start(self, row: int, num_registered: int) -> None:
        """Begin a chain whose first num_registered blocks are cached already."""
        self._next_full[row] = (num_registered + 1) * self._tables.block_size
        self._key[row] = 0
        if num_registered:
            self._key[row] = self._cache.key[self._tables.ids[row, num_registered - 1]]

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

    def register(self, rows: IndexArray, tokens: TokenArray) -> None:
        """Make the blocks that rows have filled hittable, dropping duplicates.

        Mutates: the cache; block tables, where another block with the same content is
        cached already. O(full blocks) in numpy, in Python only for duplicates.
        """
        num_tokens = self._tables.num_tokens[rows]
        which = (num_tokens >= self._next_full[rows]).nonzero()[0]
        if len(which):
            self._register_new(rows[which], num_tokens[which], tokens)

    def _register_new(self, rows: IndexArray, num_tokens: IndexArray, tokens: TokenArray) -> None:
        size = self._tables.block_size
        first = self._next_full[rows] // size - 1
        full = num_tokens // size
        count = full - first
        row = np.repeat(rows, count)
        ends = np.cumsum(count)
        index = np.arange(int(ends[-1]), dtype=np.int64) + np.repeat(full - ends, count)
        content = tokens[row[:, None], index[:, None] * size + np.arange(size)]
        parts = self._cache.key_parts(content, index)
        running = np.cumsum(parts)
        starts = ends - count
        keys = running + np.repeat(self._key[rows] - running[starts] + parts[starts], count)
        self._next_full[rows] = (full + 1) * size
        self._key[rows] = keys[ends - 1]
        names = keys.tolist()
        if self._cache.are_new(names):
            self._insert(names, row, index, content)
            return
        for start, end in pairwise([0, *ends.tolist()]):
            self._register_row(
                names[start:end], row[start:end], index[start:end], content[start:end]
            )

    def _insert(
        self, keys: list[int], row: IndexArray, index: IndexArray, content: TokenArray
    ) -> None:
        ids = self._tables.ids
        parents = ids[row, np.maximum(index - 1, 0)].astype(np.int64)
        parents[index == 0] = self._pool.num_blocks
        self._cache.insert(keys, ids[row, index], content, parents)

    def _register_row(
        self, keys: list[int], row: IndexArray, index: IndexArray, content: TokenArray
    ) -> None:
        for i, key in enumerate(keys):
            other = self._cache.find(key)
            if other is not None and not self._share(int(row[i]), int(index[i]), other, content[i]):
                self.close(int(row[i]))
                return
            if self._cache.find(key) is None:
                one = slice(i, i + 1)
                self._insert([key], row[one], index[one], content[one])

    def _share(self, row: int, index: int, other: int, content: TokenArray) -> bool:
        """Use the cached block for this content, or free its key if it is stale.

        False if the key belongs to other content that is in use, or if the row's own
        block has more holders whose tables would have to change too.
        """
        ids = self._tables.ids
        own = ids[row, index]
        parent = int(ids[row, index - 1]) if index else None
        if self._cache.is_same(other, content, parent):
            if self._pool.references[own] > 1:
                return False
            self._pool.retain(np.array([other], np.int32))
            ids[row, index] = other
            self._pool.drop(np.array([own], np.int32))
            return True
        if self._pool.references[other] > 0:
            return False
        self._pool.discard(np.array([other], np.int32))
        return True
