"""docs/memory-model.md keeps its word: its commands and examples print what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

_EXAMPLE = re.compile(r"<!-- runs -->\n```(python)?\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def examples(repository: Path) -> list[tuple[str, str, str]]:
    """Language, code and what it prints of each example of the page."""
    page = (repository / "docs/memory-model.md").read_text()
    found = _EXAMPLE.findall(page)
    assert len(found) == page.count("<!-- runs -->") == page.count("```text") == 3
    return found


@pytest.mark.parametrize("place", range(3))
def test_an_example_prints_what_the_page_says(
    examples: list[tuple[str, str, str]], tmp_path: Path, place: int
) -> None:
    language, code, printed = examples[place]
    if language:
        script = tmp_path / "example.py"
        script.write_text(code)
        command = [sys.executable, str(script)]
    else:
        program, *arguments = code.split()
        assert program == "paged"
        command = [sys.executable, "-m", "paged.cli.main", *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == (printed, "")
