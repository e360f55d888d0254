"""`paged kernels`: its commands, and what it costs those who call another one."""

from __future__ import annotations

import subprocess
import sys

import pytest

from paged.cli.main import main

COMMANDS = ("list", "show", "new", "run", "bench", "compile")


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["kernels", "--help"])
    printed = capsys.readouterr().out
    assert all(f"    {command} " in printed for command in COMMANDS)


def test_other_commands_do_not_import_torch() -> None:
    script = (
        "import sys\n"
        "from paged.cli.main import main\n"
        "main(['allocators'])\n"
        "sys.exit('torch' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert ran.returncode == 0
