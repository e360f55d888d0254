"""`paged kernels compile`: registers, and what breaks a promise."""

from __future__ import annotations

from pathlib import Path

import pytest

from paged.cli.main import main
from tests.helpers.printed import lines


def test_compile_reports_registers_and_faults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    main(["kernels", "new", "mine", "--op", "copy_blocks"])
    capsys.readouterr()
    assert main(["kernels", "compile", "mine.cu", "--arch", "sm_90"]) == 0
    printed = lines(capsys)
    assert printed[-1] == "4 builds, 0 with faults"
    assert all(" registers " in line for line in printed[:-1])
    text = Path("mine.cu").read_text().replace("registers  64", "registers  4")
    Path("mine.cu").write_text(text + "// paged: claim sm_90 HMMA\n")
    assert main(["kernels", "compile", "mine.cu", "--arch", "sm_90", "--quiet"]) == 1
    printed = lines(capsys)
    assert any("expected at most 4 registers" in line for line in printed)
    assert any("expected HMMA, got none" in line for line in printed)


def test_a_kernel_that_does_not_compile_is_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    main(["kernels", "new", "mine", "--op", "copy_blocks"])
    Path("mine.cu").write_text(Path("mine.cu").read_text() + "int x = undeclared;\n")
    capsys.readouterr()
    assert main(["kernels", "compile", "mine.cu", "--arch", "sm_90", "--quiet"]) == 1
    assert any('"undeclared" is undefined' in line for line in lines(capsys))
