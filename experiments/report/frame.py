"""A CSV file as named columns."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from paged.errors import PagedError

TEXT_COLUMNS = ("workload", "allocator", "batching")

Column = NDArray[np.float64]
Labels = NDArray[np.str_]


class ResultsError(PagedError, ValueError):
    """A results folder cannot be reported on: the text says which file and why."""


def _number(cell: str, where: str) -> float:
    """Parse one cell; an empty one is a value that was not measured (NaN)."""
    if cell == "":
        return float("nan")
    try:
        return float(cell)
    except ValueError:
        raise ResultsError(
            f"{where}: expected a number, got {cell!r}; rerun the experiment"
        ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """Columns of equal length: labels[name][row] are text, numbers[name][row] float64.

    name: the file it came from, for messages.
    """

    name: str
    labels: dict[str, Labels]
    numbers: dict[str, Column]

    def __len__(self) -> int:
        return len(next(iter((self.labels | self.numbers).values())))

    def __contains__(self, column: str) -> bool:
        return column in self.numbers or column in self.labels

    def __getitem__(self, column: str) -> Column:
        return self.numbers[column]

    def select(self, mask: NDArray[np.bool_]) -> Frame:
        """Keep the rows where mask holds."""
        return Frame(
            name=self.name,
            labels={name: column[mask] for name, column in self.labels.items()},
            numbers={name: column[mask] for name, column in self.numbers.items()},
        )

    def names(self, column: str) -> list[str]:
        """Distinct labels of a text column, in order of first appearance."""
        return list(dict.fromkeys(self.labels[column].tolist()))

    def where(self, **labels: str) -> Frame:
        """Keep the rows whose text columns hold these labels."""
        mask = np.ones(len(self), dtype=np.bool_)
        for name, label in labels.items():
            mask &= self.labels[name] == label
        return self.select(mask)

    def by_value(self, column: str) -> Iterator[tuple[float, Frame]]:
        """Split the rows by the values of a number column, smallest value first."""
        for value in np.unique(self[column]).tolist():
            yield value, self.select(self[column] == value)


def read_frame(path: Path, required: Sequence[str]) -> Frame | None:
    """Read a CSV file; None where it is missing or has no rows.

    Raises: ResultsError when a required column is missing, a row is ragged or a cell
    of a number column is no number.
    """
    if not path.is_file():
        return None
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = list(csv.reader(file)) or [[]]
    if not rows:
        return None
    missing = [name for name in required if name not in header]
    if missing:
        raise ResultsError(
            f"{path.name}: expected column {missing[0]}, got {', '.join(header)};"
            " rerun the experiment"
        )
    for line, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise ResultsError(
                f"{path.name} line {line}: expected {len(header)} cells, got {len(row)};"
                " rerun the experiment"
            )
    return _to_frame(path.name, header, rows)


def _to_frame(name: str, header: list[str], rows: list[list[str]]) -> Frame:
    labels: dict[str, Labels] = {}
    numbers: dict[str, Column] = {}
    for index, column in enumerate(header):
        cells = [row[index] for row in rows]
        if column in TEXT_COLUMNS:
            labels[column] = np.array(cells, dtype=np.str_)
        else:
            where = f"{name} column {column}"
            numbers[column] = np.array([_number(cell, where) for cell in cells])
    return Frame(name=name, labels=labels, numbers=numbers)
