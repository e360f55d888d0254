"""What the steps of a chunk have said of each row: a step is written as what differs from it."""

from __future__ import annotations

import numpy as np

from paged.allocator.block_table import BlockTables
from paged.recording.header import Header
from paged.types import BoolArray, IndexArray, TokenArray


class ScheduleState:
    """Block tables, tokens and lengths as the last step that had a row left them.

    Writer and reader go through the same states, from nothing at the beginning of a chunk. Rows are
    not known to be given back.
    """

    def __init__(self, header: Header) -> None:
        self.tables = tuple(
            BlockTables(
                max_rows=header.max_rows,
                max_model_len=header.max_row_tokens,
                block_size=header.block_size,
            )
            for _ in range(header.num_groups)
        )
        # careful: np.zeros maps pages lazily, so that rows never used cost nothing
        self.tokens: TokenArray = np.zeros((header.max_rows, header.max_row_tokens), np.int32)
        self.num_computed: IndexArray = np.zeros(header.max_rows, np.int64)

    def note_prompt(self, rows: IndexArray, prompt: TokenArray) -> None:
        """Let rows hold a prompt, which is what they most likely compute."""
        self.tokens[rows, : len(prompt)] = prompt

    def note_lengths(self, rows: IndexArray, seq_lens: IndexArray) -> None:
        """Let rows be as long as a step makes them."""
        self.num_computed[rows] = seq_lens
        for tables in self.tables:
            tables.num_tokens[rows] = seq_lens
            tables.is_live[rows] = True


def flat_places(
    rows: IndexArray, num_computed: IndexArray, num_scheduled: IndexArray
) -> tuple[IndexArray, IndexArray]:
    """Return row and position of each token that a step computes, sequence after sequence."""
    num_tokens = int(num_scheduled.sum())
    if num_tokens == len(rows):  # at least one each: all decode
        return rows, num_computed
    starts = np.cumsum(num_scheduled) - num_scheduled
    within = np.arange(num_tokens, dtype=np.int64)
    return (
        np.repeat(rows, num_scheduled),
        within + np.repeat(num_computed - starts, num_scheduled),
    )


def held_columns(tables: BlockTables, rows: IndexArray) -> BoolArray:
    """Say which columns of some rows hold blocks: [rows, most blocks of one of them]."""
    num_blocks = tables.num_blocks[rows, None]
    columns = np.arange(int(num_blocks.max(initial=0)))
    return (columns >= tables.first_block[rows, None]) & (columns < num_blocks)
