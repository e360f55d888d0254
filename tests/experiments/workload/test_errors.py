"""The error of workloads is one of ours and reads like a bad value."""

from __future__ import annotations

import pytest

from experiments.workload.errors import WorkloadError, require
from paged.errors import PagedError


def test_a_broken_requirement_raises_with_its_text() -> None:
    require(True, "never seen")
    with pytest.raises(WorkloadError, match=r"^row 3: expected a length$"):
        require(False, "row 3: expected a length")


def test_callers_can_catch_it_as_ours_or_as_a_bad_value() -> None:
    assert issubclass(WorkloadError, PagedError)
    assert issubclass(WorkloadError, ValueError)
