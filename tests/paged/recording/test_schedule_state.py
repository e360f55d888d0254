"""Places of tokens and blocks of the rows of a step."""

from __future__ import annotations

import numpy as np

from paged.allocator.block_table import BlockTables
from paged.recording.header import Header
from paged.recording.schedule_state import ScheduleState, flat_places, held_columns


def test_flat_places_go_by_sequence_and_position() -> None:
    rows, positions = flat_places(np.array([4, 1]), np.array([2, 7]), np.array([3, 1]))
    assert rows.tolist() == [4, 4, 4, 1]
    assert positions.tolist() == [2, 3, 4, 7]
    assert not len(flat_places(*[np.zeros(0, np.int64)] * 3)[0])


def test_held_columns_lie_between_first_and_last_block() -> None:
    tables = BlockTables(max_rows=3, max_model_len=40, block_size=4)
    tables.num_blocks[:] = (3, 0, 2)
    tables.first_block[:] = (1, 0, 0)
    assert held_columns(tables, np.array([2, 0])).tolist() == [
        [True, True, False],
        [False, True, True],
    ]
    assert held_columns(tables, np.array([1])).shape == (1, 0)


def test_what_is_noted_holds_for_these_rows_alone() -> None:
    header = Header(
        allocator="paged", block_size=4, num_blocks=9, num_groups=2, max_rows=3, max_row_tokens=8
    )
    state = ScheduleState(header)
    state.note_prompt(np.array([1]), np.array([5, 6], np.int32))
    state.note_lengths(np.array([1]), np.array([2]))
    assert state.tokens.tolist() == [[0] * 8, [5, 6, *[0] * 6], [0] * 8]
    assert state.num_computed.tolist() == [0, 2, 0]
    assert [each.num_tokens.tolist() for each in state.tables] == [[0, 2, 0]] * 2
