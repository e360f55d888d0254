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
from paged.allocator.intake import Intake
from paged.allocator.prefix_cache import PrefixCache
from paged.allocator.prefix_chain import PrefixChains
from paged.allocator.swap import SwapSpace
from paged.allocator.usage import SlotUsage, split_own_grants, split_shared_grants
from paged.allocator.window import SlidingWindow
from paged.config import CacheConfig, GroupConfig
from paged.errors import ConfigError, OutOfBlocks, UnknownRow, check
from paged.types import IndexArray, TokenArray


class PagedAllocator:
    """Fixed-size blocks handed out one by one and shared by reference count.

    group: the KV group it serves, None for the only one; `GroupedAllocator` joins several.
    """

    name = "paged"

    def __init__(
        self, config: CacheConfig, *, max_rows: int, group: GroupConfig | None = None
    ) -> None:
        if group is None:
            (group,) = config.pools
        self.num_blocks = group.num_blocks
        self.block_size = config.block_size
        self.tables = BlockTables(
            max_rows=max_rows,
            max_model_len=config.max_model_len,
            block_size=config.block_size,
        )
        self.group_tables = (self.tables,)
        self.num_watermark_blocks = math.ceil(config.watermark * self.num_blocks)
        self._cache: PrefixCache | None = None
        if config.enable_prefix_caching:
            self._cache = PrefixCache(
                num_blocks=self.num_blocks,
                block_size=config.block_size,
                max_blocks_per_row=self.tables.max_blocks_per_row,
            )
        self.pool = BlockPool(self.num_blocks, self._cache, eviction=config.eviction)
        self._chains = (
            PrefixChains(self.tables, self.pool, self._cache) if self._cache is not None else None
        )
        self.swap = SwapSpace(self.tables, self.pool, self._cache, group.num_host_blocks)
        self._growth = Growth(self.tables, self.pool)
        self._copy_on_write = CopyOnWrite(self.tables, self.pool)
        self._window: SlidingWindow | None = None
        if group.window is not None:
            self._window = SlidingWindow(
                self.tables,
                self.pool,
                window=group.window,
                max_step_tokens=config.max_step_tokens,
            )
        self.intake = Intake(
            self.tables,
            self.pool,
            cache=self._cache,
            chains=self._chains,
            window=self._window,
            num_watermark_blocks=self.num_watermark_blocks,
        )

    @property
    def capacity_slots(self) -> int:
        """Slots of the whole pool."""
        return self.num_blocks * self.block_size

    def prefix_keys(self, tokens: TokenArray) -> IndexArray | None:
        """Keys of the full blocks of tokens. O(tokens)."""
        return None if self._cache is None else self._cache.keys_of(tokens)

    def refusal(self, demand: Demand) -> str | None:
        """Say why the tokens known now exceed pool or model, None if they fit."""
        return self.intake.refusal(demand)

    def admit(self, demand: Demand) -> Admission | None:
        """Give a request rows, its cached prefix, and room for all tokens it has now.

        With a window, room for as many as it holds at once.
        """
        intake = self.intake
        if not intake.has_rows(demand):
            return None
        hit = intake.match(demand)
        if len(hit) and intake.is_whole(demand, hit) and not intake.fits(demand, hit):
            hit = hit[:-1]
        return intake.place(demand, hit) if intake.fits(demand, hit) else None

    def check_growth(self, rows: IndexArray, num_tokens: IndexArray) -> None:
        """Raise OutOfBlocks where `grow` would. A query."""
        num_needed = self._growth.num_missing(rows, num_tokens)
        num_needed += len(self._copy_on_write.shared_tails(rows))
        if num_needed > self.pool.num_available:
            raise OutOfBlocks(num_needed=num_needed, num_available=self.pool.num_available)

    def grow(self, rows: IndexArray, num_tokens: IndexArray) -> BlockMoves:
        """Give rows the blocks and the private tail that their next tokens need."""
        copies = NO_MOVES
        if self._copy_on_write.is_idle:
            self._growth.extend(rows, num_tokens)
        else:
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

        Raises: as `check_fork` (nothing is changed).
        """
        self.check_fork(parent, children, num_tokens)
        if self._chains is not None:
            self._chains.open(parent)
            self._chains.settle([parent])
        first, end = self.tables.first_block.item(parent), -(-num_tokens // self.block_size)
        ids = self.tables.ids[parent, first:end].astype(np.int64)
        self.pool.reuse(ids, len(children))
        self.tables.ids[children, first:end] = ids
        self.tables.first_block[children] = first
        self.tables.num_blocks[children] = end
        self.tables.num_tokens[children] = num_tokens
        self._copy_on_write.watch(np.append(children, parent))
        if self._chains is not None:
            self._chains.branch(parent, children, num_tokens // self.block_size)
        return NO_MOVES

    def check_fork(self, parent: int, children: IndexArray, num_tokens: int) -> None:
        """Raise UnknownRow or ConfigError where `fork` cannot share these tokens.

        Parent may have fewer, or have given up some that the next token reads; num_tokens
        may cut a full block, which may be cached; a child may have blocks.
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
        first = self.tables.first_block.item(parent)
        if self._window is not None and self._window.first_block(num_tokens) < first:
            raise ConfigError(
                f"cannot share {num_tokens} tokens of row {parent}: its window has left its"
                f" first {first} blocks; share all {num_held} tokens"
            )

    def empty(self, rows: IndexArray) -> None:
        """Take back all blocks of live rows and keep the rows."""
        self.release(rows)
        for row in rows.tolist():
            self.tables.take_row(row)

    def release(self, rows: IndexArray) -> None:
        """Give back rows; blocks nobody else holds become free or evictable."""
        live = [row for row in dict.fromkeys(rows.tolist()) if self.tables.is_live[row]]
        if self._chains is not None:
            self._chains.settle(live)
        sequences: list[IndexArray] = []
        for row in live:
            ids = self.tables.row_ids(row)
            if self.swap.is_swapped(row):
                ids = self.tables.ids[row, self.swap.resident(row).nonzero()[0]]
                self.swap.forget(row)
            # Leaves first: the queue evicts in the order of release. As a copy, for numpy
            # writes through indices that lie backwards at a fifth of the speed.
            sequences.append(ids[::-1].astype(np.int64))
        self.pool.drop_all(sequences)
        self._copy_on_write.forget(rows)
        self.tables.give_rows(live)

    def commit(self, rows: IndexArray, tokens: TokenArray) -> None:
        """Unpin copy sources, make filled blocks hittable, give up what windows have left."""
        self.intake.unpin()
        if self._chains is not None:
            self._chains.commit(rows, tokens)
        if self._window is not None:
            moved = self._window.moved(rows)
            if len(moved):
                if self._chains is not None:
                    self._chains.register(moved, tokens)
                self._window.slide(moved)

    def abandon(self) -> None:
        """Unpin copy sources; rows that were to be written register no more blocks."""
        self.intake.unpin()
        if self._chains is not None:
            self._chains.abandon()

    def swap_out(self, rows: IndexArray) -> BlockMoves | None:
        """Move what only these rows hold to the host, each distinct block once."""
        self._check_on_device(rows)
        moves = self.swap.move_out(rows)
        if moves is not None and self._chains is not None:
            for row in rows.tolist():
                self._chains.close(row)
        return moves

    def can_swap_out(self, rows: IndexArray) -> bool:
        """Say whether the host has room for rows. Raises UnknownRow."""
        self._check_on_device(rows)
        return self.swap.can_move_out(rows)

    def _check_on_device(self, rows: IndexArray) -> None:
        for row in rows.tolist():
            if not self.tables.is_live[row] or self.swap.is_swapped(row):
                raise UnknownRow(f"row {row} is not on the device")

    def swap_in(self, rows: IndexArray, headroom_blocks: int = 0) -> BlockMoves | None:
        """Bring rows back if that leaves the watermark and a block for each to grow.

        Both are waived when no other row is on the device.
        """
        return self.swap.move_in(rows) if self.can_swap_in(rows, headroom_blocks) else None

    def can_swap_in(self, rows: IndexArray, headroom_blocks: int = 0) -> bool:
        """Say whether there is room to bring rows back. Raises UnknownRow."""
        num_running = int(self.tables.is_live.sum()) - len(self.swap.rows)
        kept_back = 0
        if num_running:
            kept_back = max(self.num_watermark_blocks, len(rows)) + headroom_blocks
        return self.pool.num_available - self.swap.num_host_blocks_of(rows) >= kept_back

    def usage(self, final_tokens: IndexArray | None) -> SlotUsage:
        """Put every slot in one class; O(live rows), O(blocks held) under sharing."""
        num_listed = int(self.tables.num_blocks.sum() - self.tables.first_block.sum())
        # careful: a pinned block that no row holds would make up for a shared one.
        if num_listed == self.pool.num_held and not self.swap.rows and not self.intake.pinned:
            split, num_held = split_own_grants(self.tables, final_tokens), num_listed
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
        if self._window is None:
            self.pool.check_leaves_first()
        self.swap.check_integrity()
        held = self.swap.held_blocks()
        expected = np.zeros(self.num_blocks, np.int64)
        np.add.at(expected, held.block, 1)
        for blocks in self.intake.pinned:
            expected[blocks] += 1
        wrong = np.flatnonzero(expected != self.pool.references)
        check(
            not len(wrong),
            f"blocks {wrong.tolist()} have {self.pool.references[wrong].tolist()}"
            f" references and {expected[wrong].tolist()} holders",
        )
