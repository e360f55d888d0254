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
# Arrays without axes: numpy works with them twice as fast as with Python's numbers.
_NOT_CACHED, _NO_KEY = np.array(0), np.array(0)
ROOT_SERIAL = 1
"""Stands for the parent of the first block of every prompt."""
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

    Nor has a block a key before it can be of use. Who looks for a block looks for the first
    one of its sequence before, so of a sequence that began like no other only that one has a
    key until somebody asks for it: nobody asks for most, and to hash and enter all their
    blocks would cost more than all else that caching does.
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
        # Number of blocks of each sequence that nobody has asked for, by the serial of the
        # first of them; the others have the serials behind it, and no key yet.
        self._unasked: dict[int, int] = {}
        # Blocks and tokens of such sequences that are not taken in yet, by their first keys.
        self._put_aside: dict[int, tuple[IndexArray, TokenArray]] = {}
        # All tokens of a block as one item: numpy moves items twice as fast as rows of items.
        self._item = np.dtype((np.void, block_size * np.dtype(np.int32).itemsize))
        self._items = np.zeros(num_blocks, self._item)
        self._tokens: TokenArray = self._items.view(np.int32).reshape(num_blocks, block_size)
        self._next_serial = ROOT_SERIAL + 1
        self.block_size = block_size
        self.key: IndexArray = np.zeros(num_blocks, np.int64)

    def __len__(self) -> int:
        self._take_in()
        return int(np.count_nonzero(self._serial))

    @property
    def next_serial(self) -> int:
        """Serial of the block that is cached next."""
        self._take_in()
        return self._next_serial

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
        if key in self._put_aside:
            self._take_in()
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
    ) -> bool:
        """Make blocks hittable, or change nothing and say False if a key is taken.

        blocks[i] gets the serial next_serial + i. parent_serials[i] is the serial of the
        block before it in its sequence, ROOT_SERIAL for the first.
        """
        self._take_in()
        key_list, block_list = keys.tolist(), blocks.tolist()
        if not self._name(key_list, block_list) and not (
            self._drop_stale(key_list) and self._name(key_list, block_list)
        ):
            return False
        self.key[blocks] = keys
        self._parent_serial[blocks] = parent_serials
        self._fill(blocks, content)
        return True

    def insert_unasked(self, key: int, blocks: IndexArray, content: TokenArray) -> None:
        """Make the leading blocks of a sequence hittable whose first key nobody has.

        content: their tokens. Both are kept until somebody can see the difference: for many
        sequences it costs hardly more than for one.
        """
        self._put_aside[key] = blocks, content

    def _take_in(self) -> None:
        """Make what was put aside hittable."""
        if not self._put_aside:
            return
        put_aside, self._put_aside = self._put_aside, {}
        sequences, contents = zip(*put_aside.values(), strict=True)
        blocks, serial = np.concatenate(sequences), self._next_serial
        self.key[blocks] = _NO_KEY
        self._parent_serial[blocks] = np.arange(serial - 1, serial - 1 + len(blocks))
        for key, own in zip(put_aside, sequences, strict=True):
            first = own.item(0)
            self._block_of[key] = first
            self.key[first] = key
            self._parent_serial[first] = ROOT_SERIAL
            self._unasked[serial] = len(own)
            serial += len(own)
        self._fill(blocks, np.concatenate(contents).reshape(-1, self.block_size))

    def _fill(self, blocks: IndexArray, content: TokenArray) -> None:
        """Let blocks hold content under new serials."""
        end = self._next_serial + len(blocks)
        self._serial[blocks] = np.arange(self._next_serial, end)
        self._next_serial = end
        self._items[blocks] = content.view(self._item)[:, 0]
        if len(self._block_of) > 2 * len(self.key):
            self._drop_all_stale()

    def insert_one(self, key: int, block: int, content: TokenArray, parent_serial: int) -> None:
        """Make a block hittable whose key nobody has. Numbers cost less than arrays of one."""
        self._block_of[key] = block
        self.key[block] = key
        self._tokens[block] = content
        self._serial[block] = self._next_serial
        self._parent_serial[block] = parent_serial
        self._next_serial += 1

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
        self._unasked = {
            serial: self._unasked[serial] for serial in self._unasked.keys() & self._serial.tolist()
        }
        self._name_all(self._named())

    def _named(self) -> IndexArray:
        """Find the cached blocks whose keys are in the index."""
        self._take_in()
        return ((self.key != _NO_KEY) & (self._serial > _NOT_CACHED)).nonzero()[0]

    def _name_all(self, blocks: IndexArray) -> None:
        self._block_of.update(zip(self.key[blocks].tolist(), blocks.tolist(), strict=True))

    def ask(self, block: int) -> None:
        """Give the blocks behind a first one their keys. O(blocks of the pool), once."""
        self._take_in()
        root = self._serial.item(block)
        num_blocks = self._unasked.pop(root, 0)
        if num_blocks > 1:
            places = self._serial - root
            run = ((places >= 0) & (places < num_blocks)).nonzero()[0]
            run = run[places[run].argsort()]
            keys = np.add.accumulate(self.key_parts(self._content(run), places[run]))
            # Windows give first blocks up before others. Who has one of these keys stands
            # behind one that is gone, and can be hit no more.
            for other in map(self.find, keys[1:].tolist()):
                if other is not None:
                    self.key[other] = _NO_KEY
            self.key[run] = keys
            self._name_all(run)

    def is_cached(self, blocks: IndexArray) -> BoolArray:
        """[blocks] which of them are hittable."""
        self._take_in()
        return self._serial[blocks] > _NOT_CACHED

    def forget(self, blocks: IndexArray) -> None:
        """Make cached blocks unhittable."""
        self._serial[blocks] = _NOT_CACHED

    def check_leaves_first(self, queued: IndexArray) -> None:
        """Raise IntegrityError if a block stands before a cached child of its own."""
        self._take_in()
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
