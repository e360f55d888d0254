"""How a request gets its rows, its cached prefix and its first blocks.

Source: PagedAttention, SOSP'23, section 4.5 (all or nothing).
"""

from __future__ import annotations

from paged.allocator.base import NO_MOVES, Admission, BlockMoves, Demand
from paged.allocator.block_pool import BlockPool
from paged.allocator.block_table import BlockTables
from paged.allocator.prefix_cache import NO_BLOCKS, PrefixCache
from paged.allocator.prefix_chain import PrefixChains
from paged.allocator.window import SlidingWindow
from paged.types import IndexArray


class Intake:
    """Decides whether a demand fits a pool, and places it there.

    num_watermark_blocks: kept back for running sequences; waived when no row is live.
    pinned: sources of copies that the step in flight has yet to make.
    """

    def __init__(
        self,
        tables: BlockTables,
        pool: BlockPool,
        *,
        cache: PrefixCache | None,
        chains: PrefixChains | None,
        window: SlidingWindow | None,
        num_watermark_blocks: int,
    ) -> None:
        self._tables = tables
        self._pool = pool
        self._cache = cache
        self._chains = chains
        self._window = window
        self._size = tables.block_size
        self._num_watermark_blocks = num_watermark_blocks
        self.pinned: list[IndexArray] = []

    def refusal(self, demand: Demand) -> str | None:
        """Say why the tokens known now exceed pool or model, None if they fit."""
        if demand.num_sequences > self._tables.max_rows:
            return (
                f"{demand.num_sequences} sequences exceed the {self._tables.max_rows}"
                " that can run at once"
            )
        total = -(-demand.num_tokens // self._size)
        needed = self._columns(demand, NO_BLOCKS)[1]
        if needed > self._pool.num_blocks or total > self._tables.max_blocks_per_row:
            return (
                f"{demand.num_tokens} tokens need {needed} blocks of {self._size},"
                f" the pool has {self._pool.num_blocks},"
                f" a sequence at most {self._tables.max_blocks_per_row}"
            )
        return None

    def _columns(self, demand: Demand, hit: IndexArray) -> tuple[int, int]:
        """First and end of the blocks that a request is given at first, those of hit included.

        With a window they are as many as it ever holds at once: it gives some up before it
        grows.
        """
        total = -(-demand.num_tokens // self._size)
        if self._window is None:
            return 0, total
        first = self._window.first_block(self._num_cached(demand, hit))
        return first, min(total, first + self._window.most_blocks)

    def has_rows(self, demand: Demand) -> bool:
        """Say whether rows are free for a demand, and long enough for it. A query."""
        is_short = -(-demand.num_tokens // self._size) <= self._tables.max_blocks_per_row
        return is_short and demand.num_sequences <= self._tables.num_free_rows

    def match(self, demand: Demand) -> IndexArray:
        """Blocks of the longest prefix of a demand that is cached.

        Mutates: the cache, where prompts that begin alike are computed and not registered yet.
        """
        cache, tokens = self._cache, demand.tokens
        if cache is None or tokens is None:
            return NO_BLOCKS
        keys = demand.prefix_keys
        if keys is None:
            keys = cache.keys_of(tokens)
        if self._chains is not None and len(keys):
            self._chains.look_up(keys.item(0))
        return cache.match(tokens, keys)

    def is_whole(self, demand: Demand, hit: IndexArray) -> bool:
        """Say whether a hit holds all tokens of a demand, so that its last block is copied."""
        return len(hit) * self._size >= demand.num_tokens

    def fits(self, demand: Demand, hit: IndexArray) -> bool:
        """Say whether there is room for a demand that shares the blocks of hit. A query."""
        first, end = self._columns(demand, hit)
        needed = end - len(hit)
        if len(hit):
            needed += self._pool.num_idle(hit[first:]) + int(self.is_whole(demand, hit))
        return self._pool.can_supply(needed + self._num_kept_back(demand.headroom_blocks))

    def _num_cached(self, demand: Demand, hit: IndexArray) -> int:
        return min(len(hit) * self._size, demand.num_tokens - 1)

    def _num_kept_back(self, headroom_blocks: int) -> int:
        is_idle = self._tables.num_free_rows == self._tables.max_rows
        return 0 if is_idle else self._num_watermark_blocks + headroom_blocks

    def place(self, demand: Demand, hit: IndexArray) -> Admission:
        """Admit a demand that `fits` and `has_rows`."""
        num_cached, is_whole = self._num_cached(demand, hit), self.is_whole(demand, hit)
        first, end = self._columns(demand, hit)
        if len(hit):
            self._pool.reuse(hit)
        if first:
            # What the window has left was needed to find the rest, and is not read.
            self._pool.drop(hit[:first][::-1])
        fresh = self._pool.take(end - len(hit) + int(is_whole))
        rows = self._tables.take_rows(demand.num_sequences)
        lead = int(rows[0])
        copies, kept = NO_MOVES, hit
        if is_whole:
            # A whole hit still computes its last token, for the logits; the write must
            # not touch the shared block. The source stays held until the copy is made.
            copies, kept = BlockMoves(hit[-1:], fresh[:1]), hit[:-1]
            self.pinned.append(hit[-1:])
        if len(kept):
            self._tables.ids[lead, : len(kept)] = kept
        self._tables.ids[lead, len(kept) : end] = fresh
        self._tables.first_block[lead] = first
        self._tables.num_blocks[lead] = end
        self._tables.num_tokens[lead] = num_cached
        if self._chains is not None:
            self._chains.admit(lead, len(kept), demand.num_tokens, demand.prefix_keys)
        return Admission(rows=rows, num_cached_tokens=num_cached, copies=copies)

    def unpin(self) -> None:
        """Drop the sources of copies: they are made, or will never be."""
        for blocks in self.pinned:
            self._pool.drop(blocks)
        self.pinned.clear()
