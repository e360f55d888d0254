"""`paged kernels`: its commands."""

from __future__ import annotations

import pytest

from paged.cli.kernels.main import COMMANDS
from paged.cli.main import main


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["kernels", "--help"])
    printed = capsys.readouterr().out
    assert all(f"    {command.name} " in printed for command in COMMANDS)
