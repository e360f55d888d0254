"""A kernel of the caller's own, in a folder of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from paged.cli.main import main


@pytest.fixture
def write_mine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., None]:
    """Return what writes mine.cu to the working folder: a new kernel of an operation, changed."""
    monkeypatch.chdir(tmp_path)

    def write(change: Callable[[str], str], *, op: str = "copy_blocks") -> None:
        assert main(["kernels", "new", "mine", "--op", op]) == 0
        capsys.readouterr()
        begun = Path("mine.cu").read_text()
        changed = change(begun)
        assert changed != begun
        Path("mine.cu").write_text(changed)

    return write
