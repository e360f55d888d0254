"""The documents keep their word: their examples run and print what they say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = re.compile(r"<!-- runs -->\n```python\n(.*?)```\n.*?prints `([^`]*)`", re.DOTALL)


def examples(document: str) -> list[tuple[str, str]]:
    root = Path(__file__).resolve().parents[1]
    return EXAMPLES.findall((root / "docs" / document).read_text())


@pytest.mark.parametrize(("code", "printed"), examples("kernels.md"))
def test_an_example_prints_what_the_page_says(code: str, printed: str, tmp_path: Path) -> None:
    script = tmp_path / "example.py"
    script.write_text(code)
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert ran.stderr == ""
    assert ran.stdout.strip() == printed


def test_the_page_has_its_examples() -> None:
    assert len(examples("kernels.md")) == 3
