"""The wheel holds all four packages and works outside of the checkout."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

# One worker builds the wheel, once.
pytestmark = pytest.mark.xdist_group("wheel")


@pytest.fixture(scope="module")
def wheel(
    repository: Path, project_files: list[Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Build a wheel of the project from a copy, so that the checkout stays clean."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in project_files:
        target = folder / "source" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((repository / name).read_bytes())
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), "./source"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_holds_all_of_the_four_packages_and_nothing_else(
    wheel: Path, project_files: list[Path]
) -> None:
    packages = {"paged", "model_zoo", "experiments", "kernels_cu"}
    held = {Path(name) for name in zipfile.ZipFile(wheel).namelist()}
    inside = {name for name in held if not name.parts[0].endswith(".dist-info")}
    assert inside == {name for name in project_files if name.parts[0] in packages}


def test_the_wheel_runs_where_there_is_no_checkout(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    ran = subprocess.run(
        [sys.executable, "-P", "-m", "experiments"],
        cwd=tmp_path / "kernels_cu",
        env={"PYTHONPATH": str(tmp_path)},
        check=True,
        capture_output=True,
        text=True,
    )
    assert "experiments.fragmentation" in ran.stdout
