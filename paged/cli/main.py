"""Entry point of the `paged` console script."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

from paged.cli.command import Command
from paged.cli.parser import CommandParser, add_commands
from paged.errors import PagedError
from paged.extras import missing_package

COMMANDS = (
    Command(
        name="generate", summary="generate text from a prompt", place="paged.cli.generate:ACTION"
    ),
    Command(
        name="serve", summary="serve a model to OpenAI clients", place="paged.cli.serve:ACTION"
    ),
    Command(
        name="bench",
        summary="put load on any OpenAI-compatible server",
        place="paged.cli.bench:ACTION",
    ),
    Command(
        name="diff",
        summary="find the first value that differs between two configurations",
        place="paged.cli.diff:ACTION",
    ),
    Command(
        name="replay",
        summary="run a kernel on the schedule of a recorded run",
        place="paged.cli.replay:ACTION",
    ),
    Command(
        name="download",
        summary="fetch a model that paged knows by name, and print where it is",
        place="paged.cli.download:ACTION",
    ),
    Command(
        name="plan",
        summary="say what fits on a GPU: weights, KV blocks, and sequences for each allocator",
        place="paged.cli.plan:ACTION",
    ),
    Command(
        name="allocators",
        summary="list the allocation policies and whether a server could use them",
        place="paged.cli.allocators:ACTION",
    ),
    Command(
        name="kernels",
        summary="list, show, write, try, check, time and compile CUDA kernels",
        place="paged.cli.kernels.main:ACTION",
    ),
    Command(
        name="doctor",
        summary="say which compilers, devices and backends work here, and why others do not",
        place="paged.cli.doctor:ACTION",
    ),
)


def _build_parser() -> CommandParser:
    """Build the parser of `paged`; the modules of its commands are imported when it parses."""
    parser = CommandParser(prog="paged", description="KV-cache memory for LLM inference.")
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    add_commands(parser, COMMANDS, is_required=False)
    return parser


class _Version(argparse.Action):
    """Looks the version up only where it is asked for: the import takes as long as all others."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        """Print the version and exit."""
        from importlib.metadata import PackageNotFoundError, version

        try:
            print(f"paged {version('paged')}")
        except PackageNotFoundError:
            print("paged from source, not installed")
        parser.exit()


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
        parser = _build_parser()
        parsed = parser.parse(given)
        if parsed.run is None:
            parser.print_help()
            return 0
        return parsed.run(parsed)
    except PagedError as error:
        return _refuse(given, str(error))
    except ModuleNotFoundError as error:
        return _refuse(given, missing_package(error))


def _refuse(given: Sequence[str], reason: str) -> int:
    called = next((a for a in given if not a.startswith("-")), "")
    print(f"paged {called}: error: {reason}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
