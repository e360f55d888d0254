"""Parsers of command lines whose commands are imported when they are called."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from typing import Any, NoReturn

from paged.cli.command import Command


class OneLineParser(ArgumentParser):
    """A parser whose errors take one line, with no usage text before it."""

    def error(self, message: str) -> NoReturn:
        """Print the message and where to find help, then exit with status 2."""
        self.exit(2, f"{self.prog}: error: {message} (see {self.prog} --help)\n")


class CommandParser(OneLineParser):
    """The parser of a command, which gets its flags when it first parses anything.

    command: None for the program itself. What it parses has `parser` and `run`: those of the
    innermost command that is named, run being None where one is still to name.
    """

    command: Command | None = None

    def parse_known_args(  # pyright: ignore[reportIncompatibleMethodOverride], of its overloads
        self, args: Iterable[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Parse, as the class above; the command's module is imported first."""
        self.set_defaults(parser=self, run=None)
        if self.command is not None:
            action, self.command = self.command.load(), None
            self.set_defaults(run=action.run)
            action.add_arguments(self)
        return super().parse_known_args(args, namespace)

    def parse(self, arguments: Iterable[str]) -> Namespace:
        """Parse all arguments; what is left over is an error of the command that was named."""
        parsed, left = self.parse_known_args(arguments)
        if left:
            innermost: CommandParser = parsed.parser
            innermost.error(f"unrecognized arguments: {' '.join(left)}")
        return parsed


def add_commands(parser: ArgumentParser, commands: Iterable[Command], *, is_required: bool) -> None:
    """Give a parser commands, none of which is imported here."""
    subparsers = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=is_required, parser_class=CommandParser
    )
    for command in commands:
        subparser = subparsers.add_parser(
            command.name, help=command.summary, description=command.summary
        )
        subparser.command = command
