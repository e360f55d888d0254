"""Entry point of the `paged` console script."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from importlib.metadata import version
from typing import NoReturn

from paged.cli import allocators
from paged.cli.command import Command
from paged.errors import PagedError

COMMANDS: tuple[Command, ...] = (allocators.COMMAND,)


class OneLineParser(ArgumentParser):
    """A parser whose errors take one line, with no usage text before it."""

    def error(self, message: str) -> NoReturn:
        """Print the message and where to find help, then exit with status 2."""
        self.exit(2, f"{self.prog}: error: {message} (see {self.prog} --help)\n")


def build_parser() -> ArgumentParser:
    """Build the parser of `paged` and all its subcommands."""
    parser = OneLineParser(prog="paged", description="KV-cache memory for LLM inference.")
    parser.add_argument("--version", action="version", version=f"paged {version('paged')}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND")
    for command in COMMANDS:
        subparser = subparsers.add_parser(
            command.name, help=command.summary, description=command.summary
        )
        command.add_arguments(subparser)
        subparser.set_defaults(command=command)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `paged` with the arguments of the command line and return the exit status."""
    parser = build_parser()
    parsed = parser.parse_args(arguments)
    command: Command | None = getattr(parsed, "command", None)
    if command is None:
        parser.print_help()
        return 0
    try:
        return command.run(parsed)
    except PagedError as error:
        print(f"paged {command.name}: error: {error}", file=sys.stderr)
        return 2
