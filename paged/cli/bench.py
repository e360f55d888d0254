"""`paged bench` and its commands."""

from __future__ import annotations

from argparse import ArgumentParser

from paged.cli.command import Action, Command
from paged.cli.parser import add_commands

COMMANDS = (
    Command(
        name="serve",
        summary="put load on any OpenAI-compatible server and measure what its clients see",
        place="paged.cli.bench_serve:ACTION",
    ),
)


def _add_arguments(parser: ArgumentParser) -> None:
    add_commands(parser, COMMANDS, is_required=True)


ACTION = Action(add_arguments=_add_arguments, run=None)
