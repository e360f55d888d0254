"""Exit statuses and one-line errors."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from experiments.command import BAD_INPUT, INTERRUPTED, Parser, parse_path, run_command
from paged.errors import ConfigError, IntegrityError


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (ConfigError("two\n lines"), BAD_INPUT, "error: two lines\n"),
        (ConfigError("a\0b\x1b é"), BAD_INPUT, "error: a\\x00b\\x1b é\n"),
        (
            ModuleNotFoundError(name="torch"),
            BAD_INPUT,
            "error: torch is not installed; pip install 'paged[model]'\n",
        ),
        (OSError("disk full"), BAD_INPUT, "error: disk full\n"),
        (KeyboardInterrupt(), INTERRUPTED, "interrupted: nothing was written\n"),
    ],
)
def test_what_went_wrong_takes_one_line(error, status, line, capsys):
    def fail() -> None:
        raise error

    assert run_command(fail) == status
    assert capsys.readouterr().err == line


def test_success_is_silent(capsys):
    assert run_command(lambda: None) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "error", [IntegrityError("a block has two owners"), ModuleNotFoundError(name="paged.lost")]
)
def test_a_bug_of_ours_keeps_its_traceback(error):
    def fail() -> None:
        raise error

    with pytest.raises(type(error)):
        run_command(fail)


def test_a_parser_raises_and_takes_whole_names_only():
    parser = Parser(prog="test", description=None)
    parser.add_argument("--out", type=parse_path)
    assert parser.parse_args(["--out", "x"]).out == Path("x")
    for arguments in (["--ou", "x"], ["--out"], ["--out", ""], ["x"]):
        with pytest.raises(ConfigError, match="see --help"):
            parser.parse_args(arguments)


def test_a_path_is_not_empty_and_has_no_null():
    for text in ("", "a\0b"):
        with pytest.raises(argparse.ArgumentTypeError, match="expected a path"):
            parse_path(text)
