"""Settings and fixtures of the whole suite: fixed seeds, the folder of real traces."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Derandomised: the examples follow from the test's source, so a failure repeats anywhere.
# No deadline: a loaded machine is no bug.
settings.register_profile("paged", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("paged")


@pytest.fixture(scope="session")
def repository() -> Path:
    """Root of the checkout."""
    return Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def traces_dir() -> Path:
    """Folder of the public traces, named by PAGED_TRACES; skips without the variable."""
    name = os.environ.get("PAGED_TRACES")
    if name is None:
        pytest.skip("PAGED_TRACES is not set: tests on real traces need that folder (README)")
    folder = Path(name)
    if not folder.is_dir():
        pytest.fail(f"PAGED_TRACES must name a folder, got {name!r}")
    return folder
