"""One step as columns, and back: what differs from the state that the steps before it left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from paged.allocator.base import BlockMoves
from paged.allocator.block_table import BlockTables
from paged.recording.admission_codec import put_admitted, take_admitted
from paged.recording.columns import ColumnReader, ColumnWriter
from paged.recording.schedule_state import ScheduleState, flat_places, held_columns
from paged.scheduler.batch import Batch, Blocked
from paged.types import IndexArray

_BLOCKED = tuple(Blocked)
_MOVES = ("swap_out", "swap_in", "copies")
_COUNTS = ("step", "num_preempted", "num_recomputed_tokens", "num_waiting")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedStep:
    """A batch, and when and how long it ran.

    batch: its tables and tokens hold until the next step is read. What it tells is what an
        executor reads: of its own rows the tables, and of its own tokens the ids. Of requests, how
        their output is drawn is not known.
    """

    batch: Batch
    start_s: float
    duration_s: float


def put_step(out: ColumnWriter, state: ScheduleState, step: RecordedStep) -> None:
    """Write a step. Mutates: out, state."""
    batch = step.batch
    out.put_float("start_s", step.start_s)
    out.put_float("duration_s", step.duration_s)
    for name in _COUNTS:
        out.put_int(name, getattr(batch, name))
    out.put_int("blocked", _BLOCKED.index(batch.blocked))
    out.put_int("num_admitted", len(batch.admitted))
    for admitted in batch.admitted:
        put_admitted(out, admitted)
        state.note_prompt(admitted.rows, admitted.request.prompt_tokens)
    rows = batch.rows
    out.put_int("num_rows", len(rows))
    out.put("row", rows)
    out.put("num_computed", batch.num_computed - state.num_computed[rows])
    out.put("num_scheduled", batch.num_scheduled)
    out.put("num_samples", batch.num_samples)
    for known, tables in zip(state.tables, batch.group_tables, strict=True):
        _put_tables(out, known, tables, rows)
    places = flat_places(rows, batch.num_computed, batch.num_scheduled)
    tokens = batch.tokens[places]
    # unlike the ids themselves, these are 0 where a prompt foretold them
    out.put("token", tokens - state.tokens[places].astype(np.int64))
    state.tokens[places] = tokens
    for name in _MOVES:
        _put_moves(out, name, getattr(batch, name))
    state.note_lengths(rows, batch.seq_lens)


def take_step(columns: ColumnReader, state: ScheduleState) -> RecordedStep:
    """Read what `put_step` wrote. Mutates: columns, state, which the batch shares.

    Raises: RecordingError.
    """
    start_s, duration_s = columns.take_float("start_s"), columns.take_float("duration_s")
    counts: dict[str, Any] = {name: columns.take_int(name) for name in _COUNTS}
    blocked = _BLOCKED[columns.take_int("blocked")]
    admitted = tuple(take_admitted(columns) for _ in range(columns.take_int("num_admitted")))
    for one in admitted:
        state.note_prompt(one.rows, one.request.prompt_tokens)
    num_rows = columns.take_int("num_rows")
    rows = columns.take("row", num_rows)
    num_computed = columns.take("num_computed", num_rows) + state.num_computed[rows]
    num_scheduled = columns.take("num_scheduled", num_rows)
    num_samples = columns.take("num_samples", num_rows)
    for tables in state.tables:
        _take_tables(columns, tables, rows)
    places = flat_places(rows, num_computed, num_scheduled)
    # careful: no +=, which would cast int64 to int32 in place
    state.tokens[places] = state.tokens[places] + columns.take("token", len(places[0]))
    moves: dict[str, Any] = {name: _take_moves(columns, name) for name in _MOVES}
    state.note_lengths(rows, num_computed + num_scheduled)
    batch = Batch(
        rows=rows,
        num_computed=num_computed,
        num_scheduled=num_scheduled,
        num_samples=num_samples,
        num_drawn=int(num_samples.sum()),
        group_tables=state.tables,
        tokens=state.tokens,
        admitted=admitted,
        blocked=blocked,
        **counts,
        **moves,
    )
    return RecordedStep(batch=batch, start_s=start_s, duration_s=duration_s)


def _put_tables(
    out: ColumnWriter, known: BlockTables, tables: BlockTables, rows: IndexArray
) -> None:
    """Write what blocks the rows hold, where that has changed. Mutates: out, known."""
    for name in ("num_blocks", "first_block"):
        now, before = getattr(tables, name)[rows], getattr(known, name)[rows]
        out.put(name, now - before)
        getattr(known, name)[rows] = now
    width = int(known.num_blocks[rows].max(initial=0))
    ids = tables.ids[rows, :width]
    is_new = ids != known.ids[rows, :width]
    if is_new.any():
        is_new &= held_columns(known, rows)
    at, columns = is_new.nonzero()
    out.put_int("num_new_blocks", len(at))
    if len(at):
        out.put("new_place", at * width + columns)
        out.put("new_block", ids[at, columns])
        known.ids[rows[at], columns] = ids[at, columns]


def _take_tables(columns: ColumnReader, tables: BlockTables, rows: IndexArray) -> None:
    """Read what `_put_tables` wrote. Mutates: columns, tables."""
    for name in ("num_blocks", "first_block"):
        getattr(tables, name)[rows] += columns.take(name, len(rows))
    num_new = columns.take_int("num_new_blocks")
    if not num_new:
        return
    width = max(int(tables.num_blocks[rows].max(initial=0)), 1)
    at, column = np.divmod(columns.take("new_place", num_new), width)
    tables.ids[rows[at], column] = columns.take("new_block", num_new)


def _put_moves(out: ColumnWriter, name: str, moves: BlockMoves) -> None:
    out.put_int(f"num_{name}", len(moves))
    if not len(moves):
        return
    out.put_int(f"{name}_has_group", moves.group is not None)
    out.put(f"{name}_src", moves.src)
    out.put(f"{name}_dst", moves.dst)
    if moves.group is not None:
        out.put(f"{name}_group", moves.group)


def _take_moves(columns: ColumnReader, name: str) -> BlockMoves:
    count = columns.take_int(f"num_{name}")
    if not count:
        return BlockMoves()
    has_group = columns.take_int(f"{name}_has_group")
    src, dst = columns.take(f"{name}_src", count), columns.take(f"{name}_dst", count)
    return BlockMoves(src, dst, columns.take(f"{name}_group", count) if has_group else None)


def take_move_counts(columns: ColumnReader, name: str, num_steps: int) -> IndexArray:
    """Read how many blocks each step of a chunk moves, and nothing else of it.

    name: of the moves in a `Batch`. Mutates: columns. Raises: RecordingError.
    """
    return columns.take(f"num_{name}", num_steps)
