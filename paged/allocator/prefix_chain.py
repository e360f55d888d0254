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

    Many blocks are registered at hardly more cost than one, so one pass over all rows does
    it every few steps, and in between only what a row that settles or a look-up needs.
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
        # Rows whose prompt is not computed as a whole yet: its length in tokens, and the
        # key of its first block if that is known.
        self._prompts: dict[int, tuple[int, int | None]] = {}
        # Rows with blocks of a prompt to register: how many of its tokens are computed.
        # The keys are those of the first blocks, of these rows and maybe of others.
        self._computed: dict[int, int] = {}
        self._first_keys: set[int] = set()
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
        self.start(row, num_registered)
        first_key: int | None = None
        if known_keys is not None and len(known_keys):
            first_key = known_keys.item(0)
        self._prompts[row] = num_tokens, first_key

    def start(self, row: int, num_registered: int) -> None:
        """Begin a chain whose first num_registered blocks are cached already."""
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
        if next_full != _CLOSED and self._serial[parent] != ROOT_SERIAL:
            last = next_full // self._tables.block_size - 2
            self._cache.ask(self._tables.ids.item(parent, last))
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
        """Take note that the step in flight, which wrote rows, has run."""
        self._tokens = tokens
        self._in_flight.clear()
        self._num_commits += 1
        if self._prompts:
            self._note_prompts()
        if self._num_commits % STEPS_PER_PASS == 0:
            self.register(rows, tokens)
            self._register_prompts()

    def _note_prompts(self) -> None:
        """See how far prompts are computed; register those that begin alike, which may share."""
        is_alone = True
        for row, (num_prompt_tokens, first_key) in list(self._prompts.items()):
            num_tokens = self._tables.num_tokens.item(row)
            if num_tokens >= num_prompt_tokens:
                del self._prompts[row]
            if num_tokens < self._next_full.item(row):
                continue
            self._computed[row] = num_tokens
            if first_key is None or self._is_known(first_key):
                is_alone = False
            else:
                self._first_keys.add(first_key)
        if not is_alone:
            self._register_prompts()

    def _is_known(self, first_key: int) -> bool:
        return first_key in self._first_keys or self._cache.find(first_key) is not None

    def look_up(self, first_key: int) -> None:
        """Make hittable what prompts with this first block have computed."""
        if first_key in self._first_keys:
            self._register_prompts()

    def _register_prompts(self) -> None:
        computed, self._computed = self._computed, {}
        self._first_keys.clear()
        self._register_rows(computed)

    def abandon(self) -> None:
        """Take note that the step in flight has failed: close the chains of its rows."""
        self._register_prompts()
        for rows in self._in_flight:
            self._next_full[rows] = _CLOSED
        self._in_flight.clear()

    def settle(self, rows: list[int]) -> None:
        """Register all that rows have filled, before they are released or forked."""
        in_flight: set[int] = set()
        for written in self._in_flight:
            in_flight.update(written.tolist())
        full: dict[int, int] = {}
        for row in rows:
            self._prompts.pop(row, None)
            num_tokens = self._computed.pop(row, 0)
            if row not in in_flight:
                num_tokens = self._tables.num_tokens.item(row)
            missing = num_tokens - self._next_full.item(row)
            if missing >= self._tables.block_size:
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
        serial = self._cache.next_serial
        parents = np.arange(serial - 1, serial - 1 + len(of))
        parents[starts] = self._serial[rows]
        roots = self._unasked_roots(rows, column[starts], serial + starts)
        root_serials = None if roots is None else roots[of]
        if self._cache.insert_new(keys, blocks, content, parents, root_serials):
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

    def _unasked_roots(
        self, rows: IndexArray, columns: IndexArray, serials: IndexArray
    ) -> IndexArray | None:
        """Find the serials of the first blocks of rows, unless somebody has asked for one.

        Rows are about to register blocks from columns on, which will have serials.
        """
        # careful: before the first column lies a block of another row, which is not looked at.
        before = self._tables.ids.take(rows * self._width + columns - self._one).astype(np.int64)
        roots = np.where(columns > 0, self._cache.unasked_roots(before), serials)
        return roots if np.count_nonzero(roots) == len(roots) else None

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
