"""The `paged` command: help, version, errors."""

from __future__ import annotations

import os
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from paged.cli import main as cli
from paged.cli.command import Command
from paged.errors import ConfigError

PAGED = Path(sys.executable).with_name("paged")


def _command(error: Exception | None) -> Command:
    def add_arguments(parser: ArgumentParser) -> None:
        parser.add_argument("--count", type=int, default=0)

    def run(arguments: Namespace) -> int:
        if error is not None:
            raise error
        return arguments.count

    return Command(name="probe", summary="a test's own", add_arguments=add_arguments, run=run)


def test_without_arguments_it_prints_help_and_succeeds(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("usage: paged")
    assert all(command.name in printed.out for command in cli.COMMANDS)
    assert printed.err == ""


def test_version_is_that_of_the_project(
    capsys: pytest.CaptureFixture[str], repository: Path
) -> None:
    with pytest.raises(SystemExit) as exited:
        cli.main(["--version"])
    assert exited.value.code == 0
    name, version = capsys.readouterr().out.split()
    assert name == "paged"
    assert f'\nversion = "{version}"\n' in (repository / "pyproject.toml").read_text()


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["nonsense"], "invalid choice: 'nonsense'"),
        (["--nonsense"], "unrecognized arguments: --nonsense"),
        (["allocators", "extra"], "unrecognized arguments: extra"),
    ],
)
def test_a_wrong_command_line_gets_one_line_and_status_2(
    arguments: list[str], wanted: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exited:
        cli.main(arguments)
    assert exited.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert wanted in printed.err


def test_a_refusal_of_a_command_gets_one_line_and_status_2(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "COMMANDS", (_command(ConfigError("expected 1, got 2")),))
    assert cli.main(["probe"]) == 2
    assert capsys.readouterr().err == "paged probe: error: expected 1, got 2\n"


@pytest.mark.parametrize("bug", [ZeroDivisionError(), ModuleNotFoundError(name="paged.nothing")])
def test_a_bug_in_a_command_is_not_swallowed(
    bug: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "COMMANDS", (_command(bug),))
    with pytest.raises(type(bug)):
        cli.main(["probe"])


def test_a_command_gets_its_own_flags_and_sets_the_exit_status(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cli, "COMMANDS", (_command(None),))
    assert cli.main(["probe", "--count", "3"]) == 3


def test_the_console_script_is_installed() -> None:
    printed = subprocess.run([PAGED, "allocators"], capture_output=True, text=True, check=True)
    assert printed.stdout.startswith("paged ")


@pytest.mark.parametrize("arguments", [["allocators"], ["--help"], ["nonsense"]])
def test_a_reader_that_stops_ends_the_command_quietly(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as closed:
        streams = {"stdout": closed, "stderr": subprocess.PIPE}
        if arguments == ["nonsense"]:
            streams = {"stdout": subprocess.PIPE, "stderr": closed}
        # argparse says nothing of a write that fails, and without a buffer its own do
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
        ended = subprocess.run(
            [PAGED, *arguments], check=False, text=True, env=environment, **streams
        )
    assert ended.returncode == 141
    assert not ended.stdout
    assert not ended.stderr


def test_an_interruption_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: Namespace) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "COMMANDS", (replace(_command(None), run=interrupted),))
    assert cli.main(["probe"]) == 130


def test_from_source_the_command_runs_without_an_installation(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def version(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(cli, "version", version)
    assert cli.main(["allocators"]) == 0
    assert capsys.readouterr().err == ""
