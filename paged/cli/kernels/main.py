"""`paged kernels` and its commands."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from paged.cli.command import Command


def _commands() -> tuple[Command, ...]:
    """Import the commands, and torch with them, only where one of them is wanted."""
    from paged.cli.kernels import bench, listing, new, run
    from paged.cli.kernels import compile as compiling

    return listing.LIST, listing.SHOW, new.COMMAND, run.COMMAND, bench.COMMAND, compiling.COMMAND


def _add_arguments(parser: ArgumentParser) -> None:
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _commands():
        subparser = subparsers.add_parser(
            command.name, help=command.summary, description=command.summary
        )
        command.add_arguments(subparser)
        subparser.set_defaults(kernels_command=command)


def _run(arguments: Namespace) -> int:
    command: Command = arguments.kernels_command
    return command.run(arguments)


COMMAND = Command(
    name="kernels",
    summary="list, show, write, try, time and compile CUDA kernels",
    add_arguments=_add_arguments,
    run=_run,
)
