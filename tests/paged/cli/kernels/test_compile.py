"""`paged kernels compile`: registers, and what breaks a promise."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from paged.cli.main import main
from tests.helpers.printed import lines


def test_compile_reports_registers_and_faults(
    write_mine: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["kernels", "compile", "copy_blocks=simple", "--arch", "sm_90"]) == 0
    printed = lines(capsys)
    assert printed[-1] == "4 builds, 0 with faults"
    assert all(" registers " in line for line in printed[:-1])
    claim = "// paged: claim sm_90 HMMA\n"
    write_mine(lambda text: text.replace("registers  64", "registers  4") + claim)
    assert main(["kernels", "compile", "mine.cu", "--arch", "sm_90", "--quiet"]) == 1
    printed = lines(capsys)
    assert any("expected at most 4 registers" in line for line in printed)
    assert any("expected HMMA, got none" in line for line in printed)


def test_a_kernel_that_does_not_compile_is_a_fault(
    write_mine: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    write_mine(lambda text: text + "int x = undeclared;\n")
    assert main(["kernels", "compile", "mine.cu", "--arch", "sm_90", "--quiet"]) == 1
    assert any('"undeclared" is undefined' in line for line in lines(capsys))
