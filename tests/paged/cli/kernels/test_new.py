"""`paged kernels new` writes a kernel that works."""

from __future__ import annotations

from pathlib import Path

import pytest

from paged.cli.main import main
from tests.helpers.printed import lines


def test_new_writes_a_kernel_that_passes_its_problems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["kernels", "new", "mine"]) == 0
    assert "paged kernels run mine.cu" in lines(capsys)[0]
    text = Path("mine.cu").read_text()
    assert "// paged: summary    mine, from v0" in text
    assert main(["kernels", "run", "mine.cu", "--problem", "decode", "--orders", "natural,5"]) == 0
    assert [line.split()[0] for line in lines(capsys)[1:]] == ["ok"] * 3
    assert main(["kernels", "new", "mine"]) == 2
    assert "cannot write mine.cu: File exists" in capsys.readouterr().err
    assert Path("mine.cu").read_text() == text
