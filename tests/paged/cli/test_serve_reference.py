"""The page of `paged serve` is that of the code, and leaves no flag out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from paged.cli.main import main
from paged.cli.serve_reference import flag_groups, serve_reference


def test_the_page_in_docs_is_current(repository: Path) -> None:
    written = (repository / "docs" / "serve_reference.md").read_text()
    assert written == serve_reference(), (
        "run: python -m paged.cli.serve_reference > docs/serve_reference.md"
    )


def test_it_has_every_flag_with_a_default_and_a_meaning(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["serve", "--help"])
    helped = set(re.findall(r"^  (--[\w-]+)", capsys.readouterr().out, re.MULTILINE))
    rows = [row for rows in flag_groups().values() for row in rows]
    assert len(helped) > 30
    assert helped <= {flag.strip("`").split()[0].rstrip(",") for flag, _, _ in rows}
    assert [flag for flag, default, meaning in rows if not (default and meaning)] == []


def test_a_default_is_apart_from_the_meaning() -> None:
    assert ("`--port N`", "8000", "0 takes a free one") in flag_groups()["server"]
