"""A small table of text, for a terminal and for a page."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of cells under a header; notes say what the cells cannot.

    num_text_columns: leading columns that hold words, the others hold numbers.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    num_text_columns: int = 1

    def render(self) -> str:
        """Lay the table out for a terminal: words to the left, numbers to the right."""
        lines = [self.header, *self.rows]
        widths = [max(len(line[index]) for line in lines) for index in range(len(self.header))]
        body = [self._line(line, widths) for line in lines]
        width = max(len(line) for line in body)
        rule = "-" * width
        notes = [part for note in self.notes for part in wrap(note, width)]
        return "\n".join([self.title, rule, body[0], rule, *body[1:], rule, *notes])

    def _line(self, cells: tuple[str, ...], widths: list[int]) -> str:
        padded = [
            cell.ljust(width) if index < self.num_text_columns else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  ".join(padded).rstrip()
