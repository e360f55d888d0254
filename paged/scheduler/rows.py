"""Persistent arrays of the running batch, updated by difference."""

from __future__ import annotations

import numpy as np

from paged.scheduler.request_state import RequestState
from paged.types import BoolArray, IndexArray, TokenArray

# An array without axes: numpy adds it twice as fast as Python's number.
_ONE = np.array(1)


class SequenceRows:
    """Structure of arrays over rows; what a step reads and writes for all rows at once.

    tokens[max_rows, max_model_len]: known token ids; the width is rounded up to blocks.
    num_tokens: known tokens.
    end_tokens: the sequence ends when it has this many tokens.
    running: rows that take part in steps, in order of service.
    ones: a one for each row, not to be written to; a slice of it costs a tenth of np.ones.
    """

    def __init__(self, *, max_rows: int, max_model_len: int, block_size: int) -> None:
        # careful: np.zeros maps pages lazily; most of this matrix is never touched.
        width = -(-max_model_len // block_size) * block_size
        self.tokens: TokenArray = np.zeros((max_rows, width), np.int32)
        self.num_tokens: IndexArray = np.zeros(max_rows, np.int64)
        self.end_tokens: IndexArray = np.zeros(max_rows, np.int64)
        self.owner: list[RequestState | None] = [None] * max_rows
        self.running: IndexArray = np.zeros(0, np.int64)
        self.ones: IndexArray = np.ones(max_rows, np.int64)
        self._stays: BoolArray = np.ones(max_rows, np.bool_)
        self.ones.flags.writeable = False
        # Where each row starts in the tokens of all rows.
        self._start: IndexArray = np.arange(max_rows) * width

    def claim(self, state: RequestState, end_tokens: int) -> None:
        """Let the rows of a request be its own."""
        for row in state.rows:
            self.owner[row] = state
            self.end_tokens[row] = end_tokens

    def start(self, row: int, tokens: TokenArray) -> None:
        """Put a sequence with its known tokens on a row."""
        self.tokens[row, : len(tokens)] = tokens
        self.num_tokens[row] = len(tokens)

    def known(self, row: int) -> TokenArray:
        """Copy of the tokens of one row."""
        return self.tokens[row, : self.num_tokens.item(row)].copy()

    def append(self, rows: IndexArray, tokens: TokenArray) -> IndexArray:
        """Add a token to each of several rows and return their new lengths."""
        num_tokens = self.num_tokens[rows]
        # Faster than an index for each axis.
        self.tokens.reshape(-1)[self._start[rows] + num_tokens] = tokens
        num_tokens += _ONE
        self.num_tokens[rows] = num_tokens
        return num_tokens

    def owner_of(self, row: int) -> RequestState:
        """Request that a row in use belongs to."""
        state = self.owner[row]
        if state is None:
            raise KeyError(f"row {row} has no owner")
        return state

    def run(self, rows: IndexArray) -> None:
        """Let rows take part in steps, at the place of their requests in the order."""
        keys = [self.owner_of(row).key for row in self.running[-1:].tolist() + rows.tolist()]
        if keys == sorted(keys):
            self.running = np.concatenate([self.running, rows])
        else:
            for row in rows.tolist():
                self._insert(row)

    def _insert(self, row: int) -> None:
        key = self.owner_of(row).key
        place = len(self.running)
        while place and self.owner_of(int(self.running[place - 1])).key > key:
            place -= 1
        self.running = np.insert(self.running, place, row)

    def stop(self, rows: IndexArray) -> None:
        """Let rows take no part in steps any more; those that do not are passed over."""
        self._stays[rows] = False
        # Places cost less than a mask of which most is true.
        self.running = self.running[self._stays[self.running].nonzero()[0]]
        self._stays[rows] = True
