"""What a subcommand is made of, and where it is found once it is called."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any


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
        action: Action = _at(self.place)
        return action


def later(place: str) -> Callable[[Namespace], int]:
    """Return an action's `run` whose module, `package.module:name`, is imported when it runs.

    For modules that take long to import: the command's help does without them.
    """

    def run(arguments: Namespace) -> int:
        status: int = _at(place)(arguments)
        return status

    return run


def _at(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
