"""`paged kernels`: its commands, and what it costs those who call another one."""

from __future__ import annotations

import importlib.util
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


def test_without_torch_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "torch" else find_spec(name)
    )
    assert main(["kernels", "list"]) == 2
    assert capsys.readouterr().err == (
        "paged kernels: error: kernels need torch; pip install 'paged[model]'\n"
    )


def test_other_commands_do_not_import_torch() -> None:
    script = (
        "import sys\n"
        "from paged.cli.main import main\n"
        "main(['allocators'])\n"
        "sys.exit('torch' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert ran.returncode == 0
