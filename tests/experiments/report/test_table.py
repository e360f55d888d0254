"""Tables as a terminal shows them."""

from __future__ import annotations

from experiments.report.table import Table


def test_render_aligns_words_left_and_numbers_right() -> None:
    table = Table(
        title="T",
        header=("name", "a %"),
        rows=(("paged", "97.1"), ("x", "8.0")),
        notes=("a note that is longer than the table is wide",),
    )
    assert table.render().splitlines() == [
        "T",
        "-----------",
        "name    a %",
        "-----------",
        "paged  97.1",
        "x       8.0",
        "-----------",
        "a note that",
        "is longer",
        "than the",
        "table is",
        "wide",
    ]
