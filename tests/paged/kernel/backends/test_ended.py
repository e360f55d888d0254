"""What a report tells of a launch that ended well."""

from __future__ import annotations

import pytest

from paged.kernel.backends.ended import Ended
from paged.kernel.backends.structures import Counts, Report


def test_processor_time_is_told_in_seconds() -> None:
    counts = (Counts(), Counts())
    ended = Ended.of(Report(processor_ns=1_500_000), counts)
    assert ended.processor_s == pytest.approx(1.5e-3)
    assert ended.counts is counts


def test_a_launch_that_was_not_observed_counts_nothing() -> None:
    assert Ended.of(Report()) == Ended(counts=(), processor_s=0.0)
