"""Entry point of the `paged` console script."""

from __future__ import annotations

import os
import signal
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import NoReturn

from paged.cli import allocators, diff, doctor, download, generate, plan, serve
from paged.cli.command import Command
from paged.cli.kernels import main as kernels
from paged.errors import PagedError
from paged.extras import MODEL_PACKAGES, not_installed

COMMANDS: tuple[Command, ...] = (
    *(generate.COMMAND, serve.COMMAND, diff.COMMAND, download.COMMAND, plan.COMMAND),
    *(allocators.COMMAND, kernels.COMMAND, doctor.COMMAND),
)


class OneLineParser(ArgumentParser):
    """A parser whose errors take one line, with no usage text before it."""

    def error(self, message: str) -> NoReturn:
        """Print the message and where to find help, then exit with status 2."""
        self.exit(2, f"{self.prog}: error: {message} (see {self.prog} --help)\n")


def build_parser(arguments: Sequence[str]) -> ArgumentParser:
    """Build the parser of `paged`, with the flags of the one subcommand that is called.

    The others' flags would cost their imports: torch, for some.
    """
    called = next((a for a in arguments if not a.startswith("-")), None)
    parser = OneLineParser(prog="paged", description="KV-cache memory for LLM inference.")
    parser.add_argument("--version", action="version", version=f"paged {_version()}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND")
    for command in COMMANDS:
        subparser = subparsers.add_parser(
            command.name, help=command.summary, description=command.summary
        )
        if command.name == called:
            command.add_arguments(subparser)
        subparser.set_defaults(command=command)
    return parser


def _version() -> str:
    try:
        return version("paged")
    except PackageNotFoundError:
        return "from source, not installed"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `paged` with the arguments of the command line and return the exit status.

    A reader that stops, such as `head`, ends the command quietly, with the status that a shell
    gives to programs that a closed pipe ends.
    """
    given = sys.argv[1:] if arguments is None else arguments
    try:
        try:
            return _run(given)
        finally:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
    except BrokenPipeError:
        _discard_unread()
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def _discard_unread() -> None:
    """Leave nothing in the buffers of closed pipes: Python would write it at exit, and complain."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _run(given: Sequence[str]) -> int:
    try:
        parser = build_parser(given)
        parsed = parser.parse_args(given)
        command: Command | None = getattr(parsed, "command", None)
        if command is None:
            parser.print_help()
            return 0
        return command.run(parsed)
    except PagedError as error:
        return _refuse(given, str(error))
    except ModuleNotFoundError as error:
        if error.name not in MODEL_PACKAGES:
            raise
        return _refuse(given, not_installed(error.name))


def _refuse(given: Sequence[str], reason: str) -> int:
    called = next((a for a in given if not a.startswith("-")), "")
    print(f"paged {called}: error: {reason}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
