"""The `paged` command: help, version, errors."""

from __future__ import annotations

import os
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from importlib import metadata
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace

import pytest

from paged.cli import main as cli
from paged.cli.command import Action, Command
from paged.cli.kernels import main as kernels
from paged.cli.parser import CommandParser
from paged.errors import ConfigError

Probe = Callable[[BaseException | None], None]

PAGED = Path(sys.executable).with_name("paged")


@pytest.fixture
def probe(monkeypatch: pytest.MonkeyPatch) -> Probe:
    """Make `probe` the only command: it raises an error, or else returns its count."""

    def install(error: BaseException | None) -> None:
        module = SimpleNamespace(ACTION=_action(error))
        monkeypatch.setitem(sys.modules, "probe_module", module)
        command = Command(name="probe", summary="a test's own", place="probe_module:ACTION")
        monkeypatch.setattr(cli, "COMMANDS", (command,))

    return install


def _action(error: BaseException | None) -> Action:
    def add_arguments(parser: ArgumentParser) -> None:
        parser.add_argument("--count", type=int, default=0)

    def run(arguments: Namespace) -> int:
        if error is not None:
            raise error
        return arguments.count

    return Action(add_arguments=add_arguments, run=run)


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
        (["--nonsense"], "unrecognized arguments: --nonsense (see paged --help)"),
        (["allocators", "extra"], "unrecognized arguments: extra (see paged allocators --help)"),
        (["kernels", "list", "--all"], "arguments: --all (see paged kernels list --help)"),
        (["kernels"], "arguments are required: COMMAND (see paged kernels --help)"),
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
    capsys: pytest.CaptureFixture[str], probe: Probe
) -> None:
    probe(ConfigError("expected 1, got 2"))
    assert cli.main(["probe"]) == 2
    assert capsys.readouterr().err == "paged probe: error: expected 1, got 2\n"


@pytest.mark.parametrize("bug", [ZeroDivisionError(), ModuleNotFoundError(name="paged.nothing")])
def test_a_bug_in_a_command_is_not_swallowed(bug: Exception, probe: Probe) -> None:
    probe(bug)
    with pytest.raises(type(bug)):
        cli.main(["probe"])


def test_a_command_gets_its_own_flags_and_sets_the_exit_status(probe: Probe) -> None:
    probe(None)
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


def test_an_interruption_is_no_traceback(probe: Probe) -> None:
    probe(KeyboardInterrupt())
    assert cli.main(["probe"]) == 130


def test_from_source_there_is_no_version(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def version(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", version)
    with pytest.raises(SystemExit):
        cli.main(["--version"])
    assert capsys.readouterr().out == "paged from source, not installed\n"


_EVERY_HELP = r"""
import re, sys
from contextlib import redirect_stdout, suppress
from io import StringIO

class Refusal:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise AssertionError("torch is imported")

sys.meta_path.insert(0, Refusal())
from paged.cli.main import main

def printed(*arguments):
    with redirect_stdout(StringIO()) as text, suppress(SystemExit):
        main(arguments)
    print(*arguments)
    return text.getvalue()

def visit(*command):
    text = printed(*command, "--help")
    commands = text.partition("\ncommands:\n")[2]
    for name in re.findall(r"^    (\w+)", commands, re.MULTILINE):
        visit(*command, name)

printed("--version")
visit()
"""


def test_no_help_and_no_version_needs_torch() -> None:
    command = [sys.executable, "-c", _EVERY_HELP]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.stderr == ""
    shown = ended.stdout.splitlines()
    assert shown[0] == "--version"
    for wanted in ("--help", "serve --help", "bench serve --help", "kernels compile --help"):
        assert wanted in shown
    assert len(shown) == 2 + len(cli.COMMANDS) + len(kernels.COMMANDS) + 1


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        ("--help", {"numpy", "importlib.metadata", "paged.cli.generate"}),
        ("kernels --help", {"numpy", "paged.kernel"}),
        ("generate --help", {"torch", "paged.cli.plan", "paged.cli.kernels"}),
        ("serve --help", {"torch", "paged.server"}),
        ("plan --help", {"torch", "paged.cli.generate"}),
        ("download --help", {"numpy", "paged.engine"}),
    ],
)
def test_a_command_imports_what_it_needs(arguments: str, unwanted: set[str]) -> None:
    code = (
        "import sys; from paged.cli.main import main\n"
        "try: main(sys.argv[1:])\n"
        "finally: print(*sys.modules, file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, *arguments.split()]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stdout.startswith("usage: paged")
    assert not unwanted & set(ended.stderr.split())


def test_each_option_that_takes_a_value_says_what_it_is_by_default() -> None:
    silent = [
        f"{parser.prog} {option.option_strings[0]}"
        for parser in _all_parsers(cli._build_parser())
        for option in parser._actions
        if option.option_strings and option.nargs != 0 and not option.required
        if "(default: " not in (option.help or "")
    ]
    assert silent == []


def test_no_option_takes_the_arguments_that_follow_its_value() -> None:
    greedy = [
        f"{parser.prog} {option.option_strings[0]}"
        for parser in _all_parsers(cli._build_parser())
        for option in parser._actions
        if option.option_strings and option.nargs in ("*", "+", "?")
    ]
    assert greedy == []


def _all_parsers(parser: CommandParser) -> Iterator[CommandParser]:
    if parser.command is not None:
        parser.command.load().add_arguments(parser)
    yield parser
    for action in parser._actions:
        for innermost in action.choices.values() if isinstance(action.choices, dict) else ():
            yield from _all_parsers(innermost)
