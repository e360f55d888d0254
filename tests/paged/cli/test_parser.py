"""Parsers: a command is imported when it is called, and tells what it does not know."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from types import SimpleNamespace

import pytest

from paged.cli.command import Action, Command
from paged.cli.parser import CommandParser, add_commands


def _command(name: str, action: Action, patch: pytest.MonkeyPatch) -> Command:
    patch.setitem(sys.modules, f"module_of_{name}", SimpleNamespace(ACTION=action))
    return Command(name=name, summary=f"does {name}", place=f"module_of_{name}:ACTION")


def _run(_: Namespace) -> int:
    return 0


def _flags(parser: ArgumentParser) -> None:
    parser.add_argument("--count", type=int)


@pytest.fixture
def parser(monkeypatch: pytest.MonkeyPatch) -> CommandParser:
    """Make a parser of `one`, `gone`, which is nowhere, and `outer inner`."""
    one = _command("one", Action(add_arguments=_flags, run=_run), monkeypatch)
    inner = _command("inner", Action(add_arguments=_flags, run=_run), monkeypatch)

    def commands(parser: ArgumentParser) -> None:
        add_commands(parser, [inner], is_required=True)

    outer = _command("outer", Action(add_arguments=commands, run=None), monkeypatch)
    gone = Command(name="gone", summary="is nowhere", place="module_of_nobody:ACTION")
    program = CommandParser(prog="program")
    add_commands(program, [one, gone, outer], is_required=False)
    return program


def test_a_command_is_imported_when_it_is_called(parser: CommandParser) -> None:
    assert "is nowhere" in parser.format_help()
    parsed = parser.parse(["one", "--count", "3"])
    assert (parsed.count, parsed.run) == (3, _run)
    with pytest.raises(ModuleNotFoundError, match="module_of_nobody"):
        parser.parse(["gone"])


def test_a_parser_parses_more_than_once(parser: CommandParser) -> None:
    counts = [parser.parse(["outer", "inner", "--count", count]).count for count in "12"]
    assert counts == [1, 2]


def test_without_a_command_nothing_runs(parser: CommandParser) -> None:
    assert parser.parse([]).run is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--what", "program: error: unrecognized arguments: --what (see program --help)"),
        ("one --what", "program: error: unrecognized arguments: --what (see program one --help)"),
        ("one more", "program one: error: unrecognized arguments: more (see program one --help)"),
        ("outer inner -q", "error: unrecognized arguments: -q (see program outer inner --help)"),
        ("outer", "program outer: error: the following arguments are required: COMMAND (see"),
        ("one --count x", "argument --count: invalid int value: 'x' (see program one --help)"),
    ],
)
def test_an_error_takes_one_line_that_names_the_command(
    arguments: str, message: str, parser: CommandParser, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parser.parse(arguments.split())
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert message.removeprefix("program: error: ") in error
    assert error.count("\n") == 1
