"""The array of an index is named as the source has it."""

from __future__ import annotations

import pytest

from paged.kernel.backends.indexed_array import indexed_array


@pytest.mark.parametrize(
    ("line", "bracket", "array"),
    [
        ("y[0] = low[i + 1];", 2, "low"),
        ("y[0] = low[i + 1];", 1, "y"),
        ("sum += tile[row][column];", 2, "tile[row]"),
        ("sum += tile[row][column];", 1, "tile"),
        ("sum += state.values[order[i]] + p->grid[1][i];", 2, "state.values"),
        ("sum += state.values[order[i]] + p->grid[1][i];", 1, "order"),
        ("sum += state.values[order[i]] + p->grid[1][i];", 4, "p->grid[1]"),
        ("sum += low [i];", 1, "low"),
        ("sum += (low)[i];", 1, None),
        ("/* \u00e9 low[0] */ sum += high[i];", 2, "high"),
    ],
)
def test_an_index_belongs_to_the_array_before_it(
    line: str, bracket: int, array: str | None
) -> None:
    text = f"float low[4];\n{line}\n"
    column = [i for i, byte in enumerate(line.encode(), 1) if byte == ord("]")][bracket - 1]
    assert indexed_array(text, 2, column) == array


def test_an_index_may_begin_a_line_before() -> None:
    assert indexed_array("sum += tile[i / 8]\n    [i % 66];", 2, 12) == "tile[i / 8]"


@pytest.mark.parametrize(("line", "column"), [(1, 1), (1, 99), (9, 1), (0, 1)])
def test_where_no_index_ends_there_is_no_array(line: int, column: int) -> None:
    assert indexed_array("AT(low, i) += 1;", line, column) is None
