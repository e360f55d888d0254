"""The documents keep their word: their examples run and print what they say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
MARK = "<!-- runs -->"
# A fence of a command of ours, or of Python; then what it prints, in a fence or in the text.
EXAMPLE = re.compile(
    rf"{MARK}\n```(?P<language>python|)\n(?P<code>.*?)```\n"
    r"(?:\n```text\n(?P<fenced>.*?)```|.*?prints `(?P<inline>[^`]*)`)",
    re.DOTALL,
)
NUM_EXAMPLES = {"kernels.md": 3, "memory-model.md": 3, "choosing.md": 2}


class Example(NamedTuple):
    """Code of a page, and what the page says that it prints."""

    language: str
    code: str
    printed: str


def examples(page: str) -> list[Example]:
    found = EXAMPLE.finditer((DOCS / page).read_text())
    return [Example(m["language"], m["code"], m["fenced"] or m["inline"]) for m in found]


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(example, id=f"{page}-{place}")
        for page in NUM_EXAMPLES
        for place, example in enumerate(examples(page))
    ],
)
def test_an_example_prints_what_the_page_says(example: Example, tmp_path: Path) -> None:
    if example.language:
        script = tmp_path / "example.py"
        script.write_text(example.code)
        command = [sys.executable, str(script)]
    else:
        program, *arguments = example.code.split()
        assert program == "paged"
        command = [sys.executable, "-m", "paged.cli.main", *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.stdout.strip(), ran.stderr) == (example.printed.strip(), "")


def test_the_pages_have_their_examples() -> None:
    marks = {page.name: page.read_text().count(MARK) for page in DOCS.glob("*.md")}
    assert {name: count for name, count in marks.items() if count} == NUM_EXAMPLES
    assert {page: len(examples(page)) for page in NUM_EXAMPLES} == NUM_EXAMPLES
