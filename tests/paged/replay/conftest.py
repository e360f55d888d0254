"""One recorded run for all tests of its calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.recorded_runs import record_grouped


@pytest.fixture(scope="session")
def grouped_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a recording with two KV groups, forks, swaps and chunks."""
    return record_grouped(tmp_path_factory.mktemp("recorded") / "run")
