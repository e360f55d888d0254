"""`paged kernels` and its commands."""

from __future__ import annotations

from argparse import ArgumentParser

from paged.cli.command import Action, Command
from paged.cli.parser import add_commands

COMMANDS = (
    Command(
        name="list",
        summary="list operations and the kernels that serve them; --kernel marks a choice",
        place="paged.cli.kernels.flags:LIST",
    ),
    Command(
        name="show",
        summary="print the page of an operation or a kernel: operands, launches, struct, work",
        place="paged.cli.kernels.flags:SHOW",
    ),
    Command(
        name="new",
        summary="write a working kernel file to start from",
        place="paged.cli.kernels.flags:NEW",
    ),
    Command(
        name="run",
        summary="try kernels on seeded problems against the float64 reference",
        place="paged.cli.kernels.flags:RUN",
    ),
    Command(
        name="check",
        summary="run kernels in the interpreter with every access to memory judged",
        place="paged.cli.kernels.flags:CHECK",
    ),
    Command(
        name="bench",
        summary="time kernels beside the hardware's limits and their peers, checked first",
        place="paged.cli.kernels.flags:BENCH",
    ),
    Command(
        name="profile",
        summary="count what a kernel's instructions do, by line of its source",
        place="paged.cli.kernels.flags:PROFILE",
    ),
    Command(
        name="compile",
        summary="compile kernels for GPUs, without one: registers, spills, claimed instructions",
        place="paged.cli.kernels.flags:COMPILE",
    ),
)


def _add_arguments(parser: ArgumentParser) -> None:
    add_commands(parser, COMMANDS, is_required=True)


ACTION = Action(add_arguments=_add_arguments, run=None)
