"""Columns of numbers that grow by one row at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_FIRST_CAPACITY = 1024


class Columns:
    """A table of float64 that doubles when it is full, so that a row costs O(1).

    Counts stay exact: float64 holds every integer below 2**53.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._rows = np.empty((_FIRST_CAPACITY, len(self.names)))
        self._num_rows = 0

    def __len__(self) -> int:
        return self._num_rows

    def append(self, row: Sequence[float]) -> None:
        """Add one row, in the order of `names`. Amortised O(columns)."""
        if self._num_rows == len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        self._rows[self._num_rows] = row
        self._num_rows += 1

    def matrix(self) -> NDArray[np.float64]:
        """Copy of all rows, [rows, names]."""
        return self._rows[: self._num_rows].copy()

    def named(self) -> dict[str, NDArray[np.float64]]:
        """Copy of every column by name, [rows] each and contiguous."""
        rows = self._rows[: self._num_rows]
        return {name: rows[:, i].copy() for i, name in enumerate(self.names)}
