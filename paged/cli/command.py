"""What a subcommand is made of, and where it is found once it is called."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """What a subcommand does.

    add_arguments: declares flags, or commands of its own, on the subcommand's own parser.
    run: does the work and returns the exit status; a PagedError it raises becomes one
        line on stderr and exit status 2. None where commands of its own do.
    """

    add_arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One subcommand, told without importing what does its work.

    place: of its `Action`, as `package.module:NAME`.
    """

    name: str
    summary: str
    place: str

    def load(self) -> Action:
        """Import the module of its action."""
        module, _, name = self.place.partition(":")
        action: Action = getattr(import_module(module), name)
        return action
