"""Persistent arrays of the running batch, updated by difference."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from paged.scheduler.request_state import RequestState
from paged.types import BoolArray, IndexArray, TokenArray


class SequenceRows:
    """Structure of arrays over rows; what a step reads and writes for all rows at once.

    tokens[max_rows, max_model_len]: known token ids; the width is rounded up to blocks.
    num_tokens, num_computed: known tokens, and those whose K and V are stored.
    end_tokens: the sequence ends when it has this many tokens.
    running: rows that take part in steps, in order of service.
    """

    def __init__(self, *, max_rows: int, max_model_len: int, block_size: int) -> None:
        # careful: np.zeros maps pages lazily; most of this matrix is never touched.
        width = -(-max_model_len // block_size) * block_size
        self.tokens: TokenArray = np.zeros((max_rows, width), np.int32)
        self.num_tokens: IndexArray = np.zeros(max_rows, np.int64)
        self.num_computed: IndexArray = np.zeros(max_rows, np.int64)
        self.end_tokens: IndexArray = np.zeros(max_rows, np.int64)
        self.owner: list[RequestState | None] = [None] * max_rows
        self.running: IndexArray = np.zeros(0, np.int64)
        self._is_stopping: BoolArray = np.zeros(max_rows, np.bool_)

    def claim(self, state: RequestState, end_tokens: int) -> None:
        """Let the rows of a request be its own."""
        for row in state.rows:
            self.owner[row] = state
            self.num_computed[row] = 0
            self.end_tokens[row] = end_tokens

    def start(self, row: int, tokens: TokenArray, *, num_computed: int) -> None:
        """Put a sequence with its known tokens on a row."""
        self.tokens[row, : len(tokens)] = tokens
        self.num_tokens[row] = len(tokens)
        self.num_computed[row] = num_computed

    def known(self, row: int) -> TokenArray:
        """Copy of the tokens of one row."""
        return self.tokens[row, : self.num_tokens[row]].copy()

    def owner_of(self, row: int) -> RequestState:
        """Request that a row in use belongs to."""
        state = self.owner[row]
        if state is None:
            raise KeyError(f"row {row} has no owner")
        return state

    def run(self, rows: list[int]) -> None:
        """Let rows take part in steps, at the place of their requests in the order."""
        keys = [self.owner_of(row).key for row in rows]
        if len(self.running):
            keys.insert(0, self.owner_of(int(self.running[-1])).key)
        if all(before <= after for before, after in pairwise(keys)):
            self.running = np.concatenate([self.running, rows])
        else:
            for row in rows:
                self._insert(row)

    def _insert(self, row: int) -> None:
        key = self.owner_of(row).key
        place = len(self.running)
        while place and self.owner_of(int(self.running[place - 1])).key > key:
            place -= 1
        self.running = np.insert(self.running, place, row)

    def stop(self, rows: IndexArray) -> None:
        """Let rows take no part in steps any more; those that do not are passed over."""
        self._is_stopping[rows] = True
        self.running = self.running[~self._is_stopping[self.running]]
        self._is_stopping[rows] = False
