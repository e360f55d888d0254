"""A misspelt name is answered by the one it was meant to be."""

from __future__ import annotations

from paged.kernel.suggestion import closest_first, suggestion


def test_a_name_that_is_nearly_another_is_answered_by_it() -> None:
    assert suggestion("atention", ["write_kv", "attention"]) == "; did you mean 'attention'?"
    assert suggestion("xyz", ["write_kv", "attention"]) == ""
    assert suggestion("xyz", []) == ""


def test_names_come_in_the_order_of_likeness() -> None:
    assert closest_first("num_row", ["head_dim", "num_rows", "rows"])[:2] == ["num_rows", "rows"]
