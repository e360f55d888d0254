"""Who owns which block, at one moment between two steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from paged.allocator.base import Allocator
from paged.allocator.grouped import GroupedAllocator
from paged.allocator.paged import PagedAllocator
from paged.engine.engine import Engine
from paged.scheduler.request_state import RequestState
from paged.types import BoolArray, IndexArray


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolView:
    """The blocks of one KV group's pool, or of the pool that all groups share.

    references[num_blocks]: sequences that hold each block.
    cached: blocks that nobody holds but whose content can be hit, next to be evicted first.
    """

    references: IndexArray
    cached: IndexArray

    def counts(self) -> dict[str, int]:
        """Blocks by state: held by one, shared by several, cached, and free, which are all."""
        num_held = int(np.count_nonzero(self.references))
        num_shared = int(np.count_nonzero(self.references > 1))
        return {
            "held": num_held - num_shared,
            "shared": num_shared,
            "cached": len(self.cached),
            "free": len(self.references) - num_held - len(self.cached),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TableView:
    """A sequence's blocks in one pool.

    blocks: their ids, in the order of its tokens; is_resident: False where the block lies on
    the host, and its id means nothing. first: blocks before them that its window gave up.
    """

    first: int
    blocks: IndexArray
    is_resident: BoolArray


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceView:
    """One sequence that is on a row. num_tokens: whose K and V it holds."""

    index: int
    row: int
    num_tokens: int
    tables: tuple[TableView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestView:
    """One request that has not ended.

    status: running, swapped (to the host), preempted (it waits and held memory before) or
        waiting.
    sequences: those that are on rows.
    """

    request_id: str
    status: str
    arrival_s: float
    num_prompt_tokens: int
    max_new_tokens: int
    num_preemptions: int
    sequences: tuple[SequenceView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All that an engine holds. slots: by class, as `SlotUsage.classes`."""

    now_s: float
    allocator: str
    block_size: int
    pools: tuple[PoolView, ...]
    requests: tuple[RequestView, ...]
    slots: dict[str, int]

    def num_with(self, status: str) -> int:
        """Count the requests of one status."""
        return sum(request.status == status for request in self.requests)

    def block_counts(self) -> dict[str, int]:
        """Blocks of all pools by state."""
        each = [pool.counts() for pool in self.pools]
        return {state: sum(counts[state] for counts in each) for state in each[0]}


def take_snapshot(engine: Engine) -> Snapshot:
    """Copy who owns what. O(blocks); not during a step."""
    scheduler, allocator = engine.scheduler, engine.scheduler.allocator
    running = set(scheduler.running_rows.tolist())
    return Snapshot(
        now_s=engine.now_s,
        allocator=allocator.name,
        block_size=allocator.block_size,
        pools=tuple(_pools(allocator)),
        requests=tuple(_request(state, allocator, running) for state in scheduler.states.values()),
        slots=allocator.usage(None).classes(),
    )


def _groups(allocator: Allocator) -> tuple[PagedAllocator, ...]:
    if isinstance(allocator, GroupedAllocator):
        return allocator.groups
    return (allocator,) if isinstance(allocator, PagedAllocator) else ()


def _pools(allocator: Allocator) -> list[PoolView]:
    groups = _groups(allocator)
    if groups:
        return [
            PoolView(
                references=group.pool.references.copy(), cached=group.pool.cached_blocks().copy()
            )
            for group in groups
        ]
    references, tables = np.zeros(allocator.num_blocks, np.int64), allocator.tables
    for row in tables.live_rows().tolist():
        references[tables.row_ids(row)] += 1
    return [PoolView(references=references, cached=np.zeros(0, np.int64))]


def _request(state: RequestState, allocator: Allocator, running: set[int]) -> RequestView:
    request = state.request
    pairs = zip(state.rows, state.sequence_indices, strict=False)
    return RequestView(
        request_id=request.request_id,
        status=_status(state, running),
        arrival_s=request.arrival_s,
        num_prompt_tokens=request.num_prompt_tokens,
        max_new_tokens=request.max_new_tokens,
        num_preemptions=state.num_preemptions,
        sequences=tuple(_sequence(row, index, allocator) for row, index in pairs),
    )


def _status(state: RequestState, running: set[int]) -> str:
    if state.rows:
        return "running" if running.intersection(state.rows) else "swapped"
    return "preempted" if state.num_preemptions else "waiting"


def _sequence(row: int, index: int, allocator: Allocator) -> SequenceView:
    groups = _groups(allocator)
    tables = tuple(
        TableView(
            first=int(tables.first_block[row]),
            blocks=tables.row_ids(row).astype(np.int64),
            is_resident=(
                groups[place].swap.resident(row)[tables.first_block[row] :]
                if groups
                else np.ones(len(tables.row_ids(row)), np.bool_)
            ),
        )
        for place, tables in enumerate(allocator.group_tables)
    )
    num_tokens = int(allocator.tables.num_tokens[row])
    return SequenceView(index=index, row=row, num_tokens=num_tokens, tables=tables)
