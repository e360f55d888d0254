"""The README keeps its word: its example runs, its commands and paths exist."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from paged.cli.main import COMMANDS


@pytest.fixture(scope="module")
def readme(repository: Path) -> str:
    """Text of the README."""
    return (repository / "README.md").read_text()


@pytest.mark.parametrize("place", [0, 1])
def test_an_example_prints_what_the_readme_says(readme: str, tmp_path: Path, place: int) -> None:
    examples = re.findall(r"```python\n(.*?)```.*?```text\n(.*?)```", readme, re.DOTALL)
    assert len(examples) == readme.count("```python") == 2
    code, printed = examples[place]
    script = tmp_path / "example.py"
    script.write_text(code)
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == (printed, "")


def test_every_make_target_it_names_exists(readme: str, repository: Path) -> None:
    makefile = (repository / "Makefile").read_text()
    named = set(re.findall(r"(?:`|^)make ([a-z]+)", readme, re.MULTILINE))
    assert {"fragmentation", "test"} <= named
    assert named <= set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))


def test_every_module_it_runs_exists(readme: str) -> None:
    named = set(re.findall(r"python -m ([\w.]+)", readme))
    assert {"experiments", "experiments.fragmentation"} <= named
    assert all(importlib.util.find_spec(name) for name in named), named


def test_every_subcommand_it_names_exists(readme: str) -> None:
    named = set(re.findall(r"`paged ([a-z]+)`", readme))
    assert named
    assert named <= {command.name for command in COMMANDS}


@pytest.mark.parametrize(
    "document", ["README.md", "CONTRIBUTING.md", "docs/architecture.md", "kernels_cu/README.md"]
)
def test_every_path_in_the_project_that_a_document_names_exists(
    document: str, repository: Path
) -> None:
    text = (repository / document).read_text()
    roots = r"(?:paged|model_zoo|experiments|bench|tests|docs|kernels_cu)"
    named = set(re.findall(rf"`({roots}/[\w./-]*)`", text))
    absent = [name for name in sorted(named) if not (repository / name).exists()]
    assert not absent, "\n".join(absent)
