"""On-demand block allocation with sharing, copy-on-write, prefix cache and swap.

Source: PagedAttention, SOSP'23, section 4.
"""

from __future__ import annotations

import math

import numpy as np

from paged.allocator.base import NO_MOVES, Admission, BlockMoves, Demand
from paged.allocator.block_pool import BlockPool
from paged.allocator.block_table import BlockTables
from paged.allocator.copy_on_write import CopyOnWrite
from paged.allocator.growth import Growth
from paged.allocator.prefix_cache import NO_BLOCKS, PrefixCache
from paged.allocator.prefix_chain import PrefixChains
from paged.allocator.swap import SwapSpace
from paged.allocator.usage import SlotUsage, split_grants, split_shared_grants
from paged.config import CacheConfig
from paged.errors import ConfigError, UnknownRow, check
from paged.types import IndexArray, TokenArray


class PagedAllocator:
    """Fixed-size blocks handed out one by one and shared by reference count."""

    name = "paged"

    def __init__(self, config: CacheConfig, *, max_rows: int) -> None:
        self.num_blocks = config.num_blocks
        self.block_size = config.block_size
        self.tables = BlockTables(
            max_rows=max_rows,
            max_model_len=config.max_model_len,
            block_size=config.block_size,
        )
        self._most_blocks = min(self.num_blocks, self.tables.max_blocks_per_row)
        self.num_watermark_blocks = math.ceil(config.watermark * config.num_blocks)
        self._cache: PrefixCache | None = None
        if config.enable_prefix_caching:
            self._cache = PrefixCache(
                num_blocks=config.num_blocks,
                block_size=config.block_size,
                max_blocks_per_row=self.tables.max_blocks_per_row,
            )
        self.pool = BlockPool(config.num_blocks, self._cache, eviction=config.eviction)
        self._chains = (
            PrefixChains(self.tables, self.pool, self._cache) if self._cache is not None else None
        )
        self.swap = SwapSpace(self.tables, self.pool, self._cache, config.num_host_blocks)
        self._growth = Growth(self.tables, self.pool)
        self._copy_on_write = CopyOnWrite(self.tables, self.pool)
        # Sources of copies that the step in flight has yet to make.
        self._pinned: list[IndexArray] = []

    @property
    def capacity_slots(self) -> int:
        """Slots of the whole pool."""
        return self.num_blocks * self.block_size

    def prefix_keys(self, tokens: TokenArray) -> IndexArray | None:
        """Keys of the full blocks of tokens. O(tokens)."""
        return None if self._cache is None else self._cache.keys_of(tokens)

    def refusal(self, demand: Demand) -> str | None:
        """Say why the tokens known now exceed pool or model, None if they fit."""
        if demand.num_sequences > self.tables.max_rows:
            return (
                f"{demand.num_sequences} sequences exceed the {self.tables.max_rows}"
                " that can run at once"
            )
        needed = -(-demand.num_tokens // self.block_size)
        if needed > self._most_blocks:
            return (
                f"{demand.num_tokens} tokens need {needed} blocks of {self.block_size},"
                f" the pool has {self.num_blocks},"
                f" a sequence at most {self.tables.max_blocks_per_row}"
            )
        return None

    def admit(self, demand: Demand) -> Admission | None:
        """Give a request rows, its cached prefix, and room for all tokens it has now.

        Source: SOSP'23 section 4.5 (all-or-nothing); the watermark keeps blocks back
        for running sequences, and is waived when no row is live.
        """
        num_blocks = -(-demand.num_tokens // self.block_size)
        if self.tables.num_free_rows < demand.num_sequences or num_blocks > self._most_blocks:
            return None
        hit = self._match(demand)
        is_whole = len(hit) * self.block_size >= demand.num_tokens
        if is_whole and not self._fits(demand, hit, num_copies=1):
            hit, is_whole = hit[:-1], False
        if not self._fits(demand, hit, num_copies=int(is_whole)):
            return None
        return self._admit(demand, hit, is_whole)

    def _match(self, demand: Demand) -> IndexArray:
        cache, tokens = self._cache, demand.tokens
        if cache is None or tokens is None:
            return NO_BLOCKS
        keys = demand.prefix_keys
        return cache.match(tokens, cache.keys_of(tokens) if keys is None else keys)

    def _fits(self, demand: Demand, hit: IndexArray, num_copies: int) -> bool:
        total = -(-demand.num_tokens // self.block_size)
        needed = total - len(hit) + num_copies
        if len(hit):
            needed += self.pool.num_idle(hit)
        return self.pool.num_available - needed >= self._num_kept_back(demand.headroom_blocks)

    def _num_kept_back(self, headroom_blocks: int) -> int:
        is_idle = self.tables.num_free_rows == self.tables.max_rows
        return 0 if is_idle else self.num_watermark_blocks + headroom_blocks

    def _admit(self, demand: Demand, hit: IndexArray, is_whole: bool) -> Admission:
        total = -(-demand.num_tokens // self.block_size)
        if len(hit):
            self.pool.reuse(hit)
        fresh = self.pool.take(total - len(hit) + int(is_whole))
        rows = self.tables.take_rows(demand.num_sequences)
        lead = int(rows[0])
        copies, kept = NO_MOVES, hit
        if is_whole:
            # A whole hit still computes its last token, for the logits; the write must
            # not touch the shared block. The source stays held until the copy is made.
            copies, kept = BlockMoves(hit[-1:], fresh[:1]), hit[:-1]
            self._pinned.append(hit[-1:])
        if len(kept):
            self.tables.ids[lead, : len(kept)] = kept
        self.tables.ids[lead, len(kept) : total] = fresh
        self.tables.num_blocks[lead] = total
        num_cached = min(len(hit) * self.block_size, demand.num_tokens - 1)
        self.tables.num_tokens[lead] = num_cached
        if self._chains is not None:
            self._chains.admit(lead, len(kept), demand.num_tokens, demand.prefix_keys)
        return Admission(rows=rows, num_cached_tokens=num_cached, copies=copies)

    def grow(self, rows: IndexArray, num_tokens: IndexArray) -> BlockMoves:
        """Give rows the blocks and the private tail that their next tokens need."""
        shared = self._copy_on_write.shared_tails(rows)
        self._growth.extend(rows, num_tokens, num_copies=len(shared))
        copies = self._copy_on_write.copy(shared)
        self._copy_on_write.forget(rows)
        self.tables.num_tokens[rows] = num_tokens
        if self._chains is not None:
            self._chains.write(rows)
        return copies

    def fork(self, parent: int, children: IndexArray, num_tokens: int) -> BlockMoves:
        """Share the blocks of parent's first num_tokens tokens with children.

        Raises: UnknownRow; ConfigError if parent has fewer tokens, num_tokens cuts a full
        block, which may be cached, or a child has blocks (nothing is changed).
        """
        self.tables.row_ids(parent)
        num_held, size = int(self.tables.num_tokens[parent]), self.block_size
        cuts_full_block = num_tokens % size and num_tokens // size < num_held // size
        if num_tokens > num_held or cuts_full_block:
            raise ConfigError(
                f"cannot share {num_tokens} tokens of row {parent}: expected all {num_held}"
                f" that it holds, or a multiple of {size} below"
            )
        for child in children.tolist():
            if len(self.tables.row_ids(child)):
                raise ConfigError(f"row {child} holds blocks already; release it first")
        if self._chains is not None:
            self._chains.settle(np.array([parent]))
        num_blocks = -(-num_tokens // size)
        ids = self.tables.row_ids(parent)[:num_blocks].astype(np.int64)
        self.pool.reuse(ids, len(children))
        self.tables.ids[children, :num_blocks] = ids
        self.tables.num_blocks[children] = num_blocks
        self.tables.num_tokens[children] = num_tokens
        self._copy_on_write.watch(np.append(children, parent))
        if self._chains is not None:
            self._chains.branch(parent, children, num_tokens // size)
        return NO_MOVES

    def empty(self, rows: IndexArray) -> None:
        """Take back all blocks of live rows and keep the rows."""
        self.release(rows)
        for row in rows.tolist():
            self.tables.take_row(row)

    def release(self, rows: IndexArray) -> None:
        """Give back rows; blocks nobody else holds become free or evictable."""
        live = [row for row in dict.fromkeys(rows.tolist()) if self.tables.is_live[row]]
        if not live:
            return
        gone = rows if len(live) == len(rows) else np.array(live, np.int64)
        if self._chains is not None:
            self._chains.settle(gone)
        sequences: list[IndexArray] = []
        for row in live:
            ids = self.tables.row_ids(row).astype(np.int64)
            if self.swap.is_swapped(row):
                ids = ids[self.swap.resident(row)]
                self.swap.forget(row)
            # Leaves first: the queue evicts in the order of release.
            sequences.append(ids[::-1])
        self.pool.drop_all(sequences)
        self._copy_on_write.forget(gone)
        self.tables.give_rows(gone)

    def commit(self, rows: IndexArray, tokens: TokenArray) -> None:
        """Unpin copy sources and make the blocks that the step filled hittable."""
        self._unpin()
        if self._chains is not None:
            self._chains.commit(rows, tokens)

    def abandon(self) -> None:
        """Unpin copy sources; rows that were to be written register no more blocks."""
        self._unpin()
        if self._chains is not None:
            self._chains.abandon()

    def _unpin(self) -> None:
        for blocks in self._pinned:
            self.pool.drop(blocks)
        self._pinned.clear()

    def swap_out(self, rows: IndexArray) -> BlockMoves | None:
        """Move what only these rows hold to the host, each distinct block once."""
        for row in rows.tolist():
            if not self.tables.is_live[row] or self.swap.is_swapped(row):
                raise UnknownRow(f"row {row} is not on the device")
        moves = self.swap.move_out(rows)
        if moves is not None and self._chains is not None:
            for row in rows.tolist():
                self._chains.close(row)
        return moves

    def swap_in(self, rows: IndexArray, headroom_blocks: int = 0) -> BlockMoves | None:
        """Bring rows back if that leaves the watermark and a block for each to grow.

        Both are waived when no other row is on the device.
        """
        num_running = int(self.tables.is_live.sum()) - len(self.swap.rows)
        kept_back = 0
        if num_running:
            kept_back = max(self.num_watermark_blocks, len(rows)) + headroom_blocks
        if self.pool.num_available - self.swap.num_host_blocks_of(rows) < kept_back:
            return None
        return self.swap.move_in(rows)

    def usage(self, final_tokens: IndexArray | None) -> SlotUsage:
        """Put every slot in one class; O(live rows), O(blocks held) under sharing."""
        rows = self.tables.live_rows()
        num_blocks = self.tables.num_blocks[rows]
        is_exclusive = int(num_blocks.sum()) == self.pool.num_held
        # careful: a pinned block that no row holds would make up for a shared one.
        if is_exclusive and not self.swap.rows and not self._pinned:
            final = None if final_tokens is None else final_tokens[rows]
            used = self.tables.num_tokens[rows]
            split = split_grants(used, num_blocks * self.block_size, final)
            num_held = self.pool.num_held
        else:
            held = self.swap.held_blocks()
            split, num_held = split_shared_grants(self.tables, held, final_tokens)
        return SlotUsage(
            capacity=self.capacity_slots,
            token=split.token,
            reserved=split.reserved,
            internal=split.internal,
            granted_unused=split.granted_unused,
            rounding=0,
            # A pinned copy source that no row holds is kept for its content as well.
            cached_free=(self.num_blocks - self.pool.num_free - num_held) * self.block_size,
            free=self.pool.num_free * self.block_size,
        )

    def check_integrity(self) -> None:
        """Raise IntegrityError unless references are exactly the holders."""
        self.tables.check_integrity()
        self.pool.check_integrity()
        self.swap.check_integrity()
        held = self.swap.held_blocks()
        expected = np.zeros(self.num_blocks, np.int64)
        np.add.at(expected, held.block, 1)
        for blocks in self._pinned:
            expected[blocks] += 1
        wrong = np.flatnonzero(expected != self.pool.references)
        check(
            not len(wrong),
            f"blocks {wrong.tolist()} have {self.pool.references[wrong].tolist()}"
            f" references and {expected[wrong].tolist()} holders",
        )
