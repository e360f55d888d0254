"""What a subcommand is made of."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One subcommand of `paged`.

    add_arguments: declares flags on the subcommand's own parser.
    run: does the work and returns the exit status; a PagedError it raises becomes one
        line on stderr and exit status 2.
    """

    name: str
    summary: str
    add_arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int]
