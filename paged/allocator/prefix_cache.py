"""Full blocks found again by the tokens they hold.

A block is known by the tokens in it and in all blocks before it. Look-up goes by a
64-bit key and is then verified: the tokens and the parent must be equal, so a key
collision can cost a hit and never gives a wrong one.
"""

from __future__ import annotations

from itertools import takewhile

import numpy as np

from paged.errors import check
from paged.types import BoolArray, IndexArray, TokenArray

_KEY_SEED = 0x9E3779B9
# Keys are signed: they wrap around from here to its negative.
_HALF = 1 << 63
# An array without axes: numpy works with it twice as fast as with Python's number.
_NOT_CACHED = np.array(0)
ROOT_SERIAL = 1
"""Stands for the parent of the first block of every prompt."""
_ROOT = np.array(ROOT_SERIAL)
NO_BLOCKS: IndexArray = np.zeros(0, np.int64)


class PrefixCache:
    """Content of every hittable block, and the index from key to block.

    The key of block i of a sequence is sum_{j <= i} (tokens of block j . within) * odd[j]
    modulo 2^64, with random numbers within and odd: a running sum, so the keys of a whole
    prompt are one cumsum and a new block of a running sequence costs one addition.

    A block gets a new serial each time it is cached; a child remembers its parent's
    serial, so it cannot be found through a block that was reused meanwhile.

    To forget a block only its serial is cleared: deleting its key would cost more than all
    else that an eviction does. Such stale keys are passed over, and dropped together once
    there are as many as blocks.

    Nor has a block a key in the index before it can be of use. Who looks for a block looks
    for the first one of its sequence before, and until somebody has asked for that one, no
    key leads to those behind it: most sequences begin like no other, and to enter their keys
    would cost more than all else that caching does.
    """

    def __init__(self, *, num_blocks: int, block_size: int, max_blocks_per_row: int) -> None:
        rng = np.random.default_rng(_KEY_SEED)
        bounds = np.iinfo(np.int64)
        self._within: IndexArray = rng.integers(bounds.min, bounds.max, block_size)
        # Equal to counting tokens from 1, so that blocks of zeros have keys too. An array
        # without axes, for numpy adds those twice as fast as Python's numbers.
        self._bias = np.array(np.add.reduce(self._within))
        self._odd: IndexArray = rng.integers(bounds.min, bounds.max, max_blocks_per_row) | 1
        # careful: it names forgotten blocks too, so ask `find`.
        self._block_of: dict[int, int] = {}
        self._serial: IndexArray = np.full(num_blocks, _NOT_CACHED, np.int64)
        self._parent_serial: IndexArray = np.zeros(num_blocks, np.int64)
        # Serial of the first block of its sequence, 0 once somebody has asked for that one.
        self._root_serial: IndexArray = np.zeros(num_blocks, np.int64)
        # All tokens of a block as one item: numpy moves items twice as fast as rows of items.
        self._item = np.dtype((np.void, block_size * np.dtype(np.int32).itemsize))
        self._items = np.zeros(num_blocks, self._item)
        self._tokens: TokenArray = self._items.view(np.int32).reshape(num_blocks, block_size)
        self.next_serial = ROOT_SERIAL + 1
        self.block_size = block_size
        self.key: IndexArray = np.zeros(num_blocks, np.int64)

    def __len__(self) -> int:
        return int(np.count_nonzero(self._serial))

    def key_parts(self, content: TokenArray, index: IndexArray | slice) -> IndexArray:
        """Say what blocks add to the running key: content[k, block_size] at index[k]."""
        parts = content @ self._within
        parts += self._bias
        parts *= self._odd[index]
        return parts

    def key_after(self, key: int, content: TokenArray, index: int) -> int:
        """Key of the one block content[block_size] at index; key: that of the block before it."""
        part = (content.dot(self._within).item() + self._bias.item()) * self._odd.item(index)
        return (key + part + _HALF) % (2 * _HALF) - _HALF

    def split(self, tokens: TokenArray) -> TokenArray:
        """View the full blocks of a token sequence as [num_full_blocks, block_size]."""
        full = len(tokens) // self.block_size
        return tokens[: full * self.block_size].reshape(full, self.block_size)

    def _content(self, blocks: IndexArray) -> TokenArray:
        """[blocks, block_size] the tokens that blocks hold."""
        return self._items[blocks].view(np.int32).reshape(-1, self.block_size)

    def keys_of(self, tokens: TokenArray) -> IndexArray:
        """Keys of the full blocks of one sequence. O(tokens)."""
        content = self.split(tokens)
        return np.add.accumulate(self.key_parts(content, slice(0, len(content))))

    def match(self, tokens: TokenArray, keys: IndexArray) -> IndexArray:
        """Blocks that hold the longest cached run of full blocks. O(blocks).

        Mutates: the index, as `ask` does.
        """
        first = self.find(keys.item(0)) if len(keys) else None
        if first is None:
            return NO_BLOCKS
        self.ask(first)
        known = map(self._block_of.get, keys.tolist())
        blocks = np.array(list(takewhile(lambda block: block is not None, known)), np.int64)
        same = (self._content(blocks) == self.split(tokens)[: len(blocks)]).all(axis=1)
        same &= self._parent_serial[blocks] == self._serials_before(blocks)
        same &= self.is_cached(blocks)
        return blocks if same.all() else blocks[: int(np.argmin(same))]

    def find(self, key: int) -> int | None:
        """Block cached under key, its content unverified."""
        block = self._block_of.get(key)
        if block is None or not self._serial.item(block) or self.key.item(block) != key:
            return None
        return block

    def is_same(self, block: int, content: TokenArray, parent_serial: int) -> bool:
        """Say whether a cached block holds exactly content after that parent."""
        same = self._parent_serial[block] == parent_serial
        return bool(same and np.array_equal(self._tokens[block], content))

    def serial_of(self, block: int) -> int:
        """Return the serial of a cached block, which its children remember."""
        return int(self._serial[block])

    def insert_new(
        self,
        keys: IndexArray,
        blocks: IndexArray,
        content: TokenArray,
        parent_serials: IndexArray,
        root_serials: IndexArray | None = None,
    ) -> bool:
        """Make blocks hittable, or change nothing and say False if a key is taken.

        blocks[i] gets the serial next_serial + i. parent_serials[i] is the serial of the
        block before it in its sequence, ROOT_SERIAL for the first. root_serials[i] is that
        of the first block, if nobody has asked for any of these: then only keys of first
        blocks can be taken, and only those are entered.
        """
        named = slice(None) if root_serials is None else parent_serials == _ROOT
        key_list, block_list = keys[named].tolist(), blocks[named].tolist()
        if not self._name(key_list, block_list) and not (
            self._drop_stale(key_list) and self._name(key_list, block_list)
        ):
            return False
        self.key[blocks] = keys
        self._items[blocks] = content.view(self._item)[:, 0]
        end = self.next_serial + len(blocks)
        self._serial[blocks] = np.arange(self.next_serial, end)
        self._parent_serial[blocks] = parent_serials
        self._root_serial[blocks] = 0 if root_serials is None else root_serials
        self.next_serial = end
        if len(self._block_of) > 2 * len(self.key):
            self._drop_all_stale()
        return True

    def insert_one(self, key: int, block: int, content: TokenArray, parent_serial: int) -> None:
        """Make a block hittable whose key nobody has. Numbers cost less than arrays of one."""
        self._block_of[key] = block
        self.key[block] = key
        self._tokens[block] = content
        self._serial[block] = self.next_serial
        self._parent_serial[block] = parent_serial
        self._root_serial[block] = 0
        self.next_serial += 1

    def _name(self, keys: list[int], blocks: list[int]) -> bool:
        """Let keys name blocks, or change nothing and say False if one names another."""
        index = self._block_of
        num_before = len(index)
        if list(map(index.setdefault, keys, blocks)) == blocks:
            return True
        while len(index) > num_before:
            index.popitem()
        return False

    def _drop_stale(self, keys: list[int]) -> bool:
        """Free the keys of forgotten blocks; change nothing and say False if one is in use."""
        taken = {key for key in keys if key in self._block_of}
        if any(self.find(key) is not None for key in taken):
            return False
        for key in taken:
            del self._block_of[key]
        return True

    def _drop_all_stale(self) -> None:
        self._block_of.clear()
        self._name_all(self._named())

    def _named(self) -> IndexArray:
        """Find the cached blocks whose keys are in the index."""
        is_named = (self._root_serial == 0) | (self._root_serial == self._serial)
        return (is_named & (self._serial > 0)).nonzero()[0]

    def _name_all(self, blocks: IndexArray) -> None:
        self._block_of.update(zip(self.key[blocks].tolist(), blocks.tolist(), strict=True))

    def unasked_roots(self, blocks: IndexArray) -> IndexArray:
        """[blocks] serials of the first blocks of their sequences; 0 where it was asked for."""
        return self._root_serial[blocks]

    def ask(self, block: int) -> None:
        """Enter all keys behind the same first block. O(blocks of the pool), once for each."""
        root = self._root_serial.item(block)
        if root:
            alike = (self._root_serial == root).nonzero()[0]
            self._root_serial[alike] = 0
            # a forgotten one may have the key of another that is cached since
            self._name_all(alike[self.is_cached(alike)])

    def is_cached(self, blocks: IndexArray) -> BoolArray:
        """[blocks] which of them are hittable."""
        return self._serial[blocks] > _NOT_CACHED

    def forget(self, blocks: IndexArray) -> None:
        """Make cached blocks unhittable."""
        self._serial[blocks] = _NOT_CACHED

    def check_leaves_first(self, queued: IndexArray) -> None:
        """Raise IntegrityError if a block stands before a cached child of its own."""
        place_of = {serial: i for i, serial in enumerate(self._serial[queued].tolist())}
        for place, parent_serial in enumerate(self._parent_serial[queued].tolist()):
            check(
                place_of.get(parent_serial, place + 1) > place,
                f"the parent of block {queued[place]} would be evicted before it",
            )

    def _serials_before(self, chain: IndexArray) -> IndexArray:
        before = np.empty(len(chain), np.int64)
        before[0] = ROOT_SERIAL
        before[1:] = self._serial[chain[:-1]]
        return before

    def check_integrity(self) -> None:
        """Raise IntegrityError unless the index has what can be hit, once somebody has asked."""
        named = self._named()
        hittable = {ROOT_SERIAL}
        # Parents first: they were cached before.
        for block in named[self._serial[named].argsort()].tolist():
            if self._parent_serial.item(block) in hittable:
                hittable.add(self._serial.item(block))
                check(
                    self.find(self.key.item(block)) == block,
                    f"block {block} can be hit, and the prefix index does not have it",
                )
