"""Every regression test fails on its mutant, and passes on a copy without it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.regressions.mutants import MUTANTS, Mutant
from tests.regressions.server_mutants import SERVER_MUTANTS

ALL = (*MUTANTS, *SERVER_MUTANTS)
NUM_FAILED_TESTS = 1  # exit status of pytest when tests ran and some failed


@pytest.fixture
def checkout(repository: Path, tmp_path: Path) -> Path:
    """Copy of the package and of the regression tests."""
    for name in ("paged", "model_zoo", "kernels_cu", "tests/regressions", "tests/helpers"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(repository / name, tmp_path / name, ignore=ignored)
    for name in ("pyproject.toml", "tests/conftest.py"):
        shutil.copy(repository / name, tmp_path / name)
    return tmp_path


def _run(checkout: Path, *tests: str) -> subprocess.CompletedProcess[str]:
    paths = [f"tests/regressions/{test}" for test in tests]
    options = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:benchmark"]
    return subprocess.run(
        [sys.executable, "-B", "-m", "pytest", *options, *paths],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def _name(mutant: Mutant) -> str:
    return f"{mutant.test.removesuffix('.py')}-{Path(mutant.source).stem}"


def test_every_regression_test_has_a_mutant(repository: Path) -> None:
    tests = {path.name for path in (repository / "tests/regressions").glob("test_*.py")}
    # those of kernels plant their mistakes themselves, in copies of the .cu files
    of_kernels = {name for name in tests if name.startswith("test_kernel_reports_")}
    assert {mutant.test for mutant in ALL} == tests - of_kernels - {Path(__file__).name}


def test_the_copy_without_a_mutant_passes(checkout: Path) -> None:
    result = _run(checkout, *sorted({mutant.test for mutant in ALL}))
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("mutant", ALL, ids=_name)
def test_a_mutant_is_noticed(checkout: Path, mutant: Mutant) -> None:
    source = checkout / "paged" / mutant.source
    text = source.read_text(encoding="utf-8")
    num_places = text.count(mutant.old)
    assert num_places == 1, (
        f"paged/{mutant.source} has this text {num_places} times, expected once;"
        f" bring the mutant up to date:\n{mutant.old}"
    )
    source.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    result = _run(checkout, mutant.test)
    assert result.returncode == NUM_FAILED_TESTS, result.stdout + result.stderr
