"""Times that follow from what was recorded."""

from __future__ import annotations

from typing import Any

import pytest

from paged.loadgen.record import Record


def record(**changes: Any) -> Record:
    values: dict[str, Any] = {
        "index": 0,
        "due_s": 1.0,
        "sent_s": 1.5,
        "first_s": 2.0,
        "end_s": 5.0,
        "num_prompt_tokens": 10,
        "num_output_tokens": 4,
    }
    return Record(**values | changes)


def test_a_user_waits_from_the_time_the_request_was_due() -> None:
    one = record()
    assert (one.start_s, one.ttft_s, one.latency_s) == (1.0, 1.0, 4.0)
    assert (one.tpot_s, one.normalized_s) == (1.0, 1.0)


def test_without_a_time_of_its_own_it_begins_where_it_was_sent() -> None:
    one = record(due_s=None)
    assert (one.start_s, one.ttft_s, one.latency_s) == (1.5, 0.5, 3.5)


@pytest.mark.parametrize(
    ("changes", "unknown"),
    [
        ({"first_s": None}, ("ttft_s", "tpot_s")),
        ({"num_output_tokens": 1}, ("tpot_s",)),
        ({"num_output_tokens": 0}, ("tpot_s", "normalized_s")),
    ],
)
def test_what_cannot_be_known_is_none(changes: dict[str, Any], unknown: tuple[str, ...]) -> None:
    one = record(**changes)
    names = ("ttft_s", "tpot_s", "normalized_s")
    assert tuple(name for name in names if getattr(one, name) is None) == unknown
