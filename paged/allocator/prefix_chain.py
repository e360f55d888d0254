"""Make the blocks of running sequences hittable as they fill up."""

from __future__ import annotations

import numpy as np

from paged.allocator.block_pool import BlockPool
from paged.allocator.block_table import BlockTables
from paged.allocator.prefix_cache import ROOT_SERIAL, PrefixCache
from paged.types import IndexArray, TokenArray

# More tokens than any sequence has: a chain that is closed registers nothing further.
_CLOSED = 1 << 40
STEPS_PER_PASS = 8
"""Steps after which a block that is full is registered at the latest."""


class PrefixChains:
    """How far each row's leading blocks are registered in the prefix cache.

    A row's chain closes when one of its blocks cannot be the cached one for its
    content; what follows it could never be found, so it is not registered either.

    Most sequences begin like no other. Such a row is alone until somebody looks for its first
    block or has one like it: before, no block of it can be found, so none is registered,
    and all are at once then, or when the row settles.

    Many blocks are registered at hardly more cost than one, so one pass over all other rows
    does it every few steps, and in between only what a row that settles or a prompt needs.
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
        # First key of each row that is alone, and the row of each.
        self._first_key: dict[int, int] = {}
        self._alone: dict[int, int] = {}
        # Tokens of each prompt that is not computed as a whole yet.
        self._prompts: dict[int, int] = {}
        # Tokens that a row had for certain at its last pass, or step with a part of the prompt.
        self._num_computed: IndexArray = np.zeros(tables.max_rows, np.int64)
        # Rows with tokens that the step in flight has yet to write.
        self._in_flight: list[IndexArray] = []
        self._num_commits = 0
        self._tokens: TokenArray | None = None
        # Arrays without axes: numpy works with them twice as fast as with Python's numbers.
        self._size = np.array(tables.block_size)
        self._none, self._one = np.array(0), np.array(1)
        self._width = np.array(tables.max_blocks_per_row)

    def admit(
        self, row: int, num_registered: int, num_tokens: int, known_keys: IndexArray | None
    ) -> None:
        """Begin the chain of a request that is about to compute num_tokens tokens.

        Its first num_registered blocks are cached already. known_keys: those of its full
        blocks, if they were computed before.
        """
        self._prompts[row] = num_tokens
        first_key = known_keys.item(0) if known_keys is not None and len(known_keys) else None
        if first_key is None or num_registered or self.look_up(first_key):
            self.start(row, num_registered)
            return
        self._next_full[row] = _CLOSED
        self._num_computed[row] = 0
        self._first_key[row] = first_key
        self._alone[first_key] = row

    def look_up(self, first_key: int) -> bool:
        """Make hittable what a row that is alone has computed, if it has this first block.

        Returns whether any sequence begins so.
        """
        row = self._alone.get(first_key)
        if row is None:
            return self._cache.find(first_key) is not None
        self.open(row)
        return True

    def start(self, row: int, num_registered: int) -> None:
        """Begin a chain whose first num_registered blocks are cached already."""
        self._next_full[row] = (num_registered + 1) * self._tables.block_size
        self._num_computed[row] = 0
        self._key[row] = 0
        self._serial[row] = ROOT_SERIAL
        if num_registered:
            last = int(self._tables.ids[row, num_registered - 1])
            self._key[row] = self._cache.key[last]
            self._serial[row] = self._cache.serial_of(last)

    def open(self, row: int) -> None:
        """Begin the chain of a row that is alone, if it is, with what it has computed."""
        if row in self._first_key:
            num_registered = self._keep(row, self._num_computed.item(row))
            if num_registered:
                self._cache.ask(self._tables.ids.item(row, 0))
            self.start(row, num_registered)

    def _keep(self, row: int, num_tokens: int) -> int:
        """Register the full blocks of a row that is alone no more; returns their number."""
        first_key = self._first_key.pop(row)
        del self._alone[first_key]
        if self._tokens is None:
            return 0
        num_full = num_tokens // self._tables.block_size
        if num_full:
            blocks = self._tables.ids[row, :num_full].astype(np.int64)
            content = self._tokens[row, : num_full * self._tables.block_size].copy()
            self._cache.insert_unasked(first_key, blocks, content)
        return num_full

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
        if row in self._first_key:
            del self._alone[self._first_key.pop(row)]

    def write(self, rows: IndexArray) -> None:
        """Take note that the next step writes these rows."""
        self._in_flight.append(rows)

    def commit(self, rows: IndexArray, tokens: TokenArray) -> None:
        """Take note that the step in flight, which wrote rows, has run."""
        self._tokens = tokens
        self._in_flight.clear()
        self._num_commits += 1
        if self._prompts:
            self._note_prompts()
        if self._num_commits % STEPS_PER_PASS == 0:
            num_tokens = self._tables.num_tokens[rows]
            self._num_computed[rows] = num_tokens
            self._register(rows, num_tokens, tokens)

    def _note_prompts(self) -> None:
        """See how far prompts are computed; register those of rows that are not alone."""
        full: dict[int, int] = {}
        for row, num_prompt_tokens in list(self._prompts.items()):
            num_tokens = self._tables.num_tokens.item(row)
            self._num_computed[row] = num_tokens
            if num_tokens >= num_prompt_tokens:
                del self._prompts[row]
            if num_tokens >= self._next_full.item(row):
                full[row] = num_tokens
        if full:
            self._register_rows(full)

    def abandon(self) -> None:
        """Take note that the step in flight has failed: its rows register nothing more."""
        for rows in self._in_flight:
            for row in self._first_key.keys() & rows.tolist():
                self._keep(row, self._num_computed.item(row))
            self._next_full[rows] = _CLOSED
        self._in_flight.clear()

    def settle(self, rows: list[int]) -> None:
        """Register all that rows have filled, before they are released or forked."""
        in_flight = {row for written in self._in_flight for row in written.tolist()}
        full: dict[int, int] = {}
        for row in rows:
            self._prompts.pop(row, None)
            is_computed = row not in in_flight
            num_tokens = (self._tables.num_tokens if is_computed else self._num_computed).item(row)
            missing = num_tokens - self._next_full.item(row)
            if row in self._first_key:
                self._keep(row, num_tokens)
            elif missing >= self._tables.block_size:
                full[row] = num_tokens
            elif missing >= 0 and self._tokens is not None:
                self._register_next(row, self._tokens)
        if full:
            self._register_rows(full)

    def _register_next(self, row: int, tokens: TokenArray) -> None:
        """Register the next full block of a row, at a fifth of what `_insert` costs for it."""
        end, size = self._next_full.item(row), self._tables.block_size
        index, content = end // size - 1, tokens[row, end - size : end]
        key = self._cache.key_after(self._key.item(row), content, index)
        self.look_up(key)
        self._next_full[row] = end + size
        self._register_one(row, index, key, content)

    def _register_rows(self, num_tokens: dict[int, int]) -> None:
        """Register the full blocks of the first num_tokens[row] tokens of each row."""
        full = [row for row, count in num_tokens.items() if count >= self._next_full.item(row)]
        if full and self._tokens is not None:
            counts = np.array([num_tokens[row] for row in full], np.int64)
            self._register(np.array(full, np.int64), counts, self._tokens)

    def register(self, rows: IndexArray, tokens: TokenArray) -> None:
        """Make the blocks that rows have filled hittable, dropping duplicates.

        Mutates: the cache; block tables, where another block with the same content is
        cached already. O(full blocks) in numpy, in Python only for duplicates.
        """
        for row in rows.tolist():
            self.open(row)
        self._register(rows, self._tables.num_tokens[rows], tokens)

    def _register(self, rows: IndexArray, num_tokens: IndexArray, tokens: TokenArray) -> None:
        """Register the full blocks of the first num_tokens[i] tokens of rows[i]."""
        missing = num_tokens - self._next_full[rows]
        which = (missing >= self._none).nonzero()[0]
        if len(which):
            self._insert(rows[which], missing[which] // self._size + self._one, tokens)

    def _insert(self, rows: IndexArray, num_new: IndexArray, tokens: TokenArray) -> None:
        """Register num_new[i] >= 1 more blocks of rows[i]."""
        next_full = self._next_full[rows]
        ends = np.add.accumulate(num_new)
        starts = ends - num_new
        # One entry for each block: index of its row in rows, column in the tables.
        of = np.arange(len(rows)).repeat(num_new)
        column = np.arange(len(of)) + (next_full // self._size - self._one - starts)[of]
        # One index into all blocks of all rows is faster than one for each axis.
        by_block = tokens.reshape(-1, self._tables.block_size)
        row = rows[of]
        content = by_block.take(row * (len(by_block) // len(tokens)) + column, axis=0)
        blocks = self._tables.ids.take(row * self._width + column).astype(np.int64)
        parts = self._cache.key_parts(content, column)
        # From the running sum over all blocks to that over the blocks of each row.
        keys = np.add.accumulate(parts)
        keys += (self._key[rows] + parts[starts] - keys[starts])[of]
        for key in self._alone.keys() & keys[starts].tolist():
            self.look_up(key)
        serial = self._cache.next_serial
        parents = np.arange(serial - 1, serial - 1 + len(of))
        parents[starts] = self._serial[rows]
        if self._cache.insert_new(keys, blocks, content, parents):
            ends -= self._one
            self._next_full[rows] = next_full + num_new * self._size
            self._key[rows] = keys[ends]
            self._serial[rows] = serial + ends
        elif len(rows) > 1:
            half = len(rows) // 2
            self._insert(rows[:half], num_new[:half], tokens)
            self._insert(rows[half:], num_new[half:], tokens)
        else:
            self._register_each(int(rows[0]), int(column[0]), keys, content)

    def _register_each(self, row: int, first: int, keys: IndexArray, content: TokenArray) -> None:
        """Register blocks of a row from column `first` on one by one, until its chain closes."""
        for i, key in enumerate(keys.tolist()):
            if self._next_full[row] != _CLOSED:
                self._next_full[row] += self._tables.block_size
                self._register_one(row, first + i, key, content[i])

    def _register_one(self, row: int, index: int, key: int, content: TokenArray) -> None:
        """Register a block whose key may be taken, or close the chain of its row."""
        other = self._cache.find(key)
        if other is not None:
            self._cache.ask(other)
            if not self._share(row, index, other, content):
                self.close(row)
                return
        block = self._cache.find(key)
        if block is None:
            block = self._tables.ids.item(row, index)
            self._cache.insert_one(key, block, content, self._serial.item(row))
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
