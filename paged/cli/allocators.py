"""`paged allocators`: list the allocation policies."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from paged.allocator.registry import ALLOCATORS, AllocatorKind
from paged.cli.command import Action

UNREACHABLE = "unreachable in practice: told the output length in advance"


def describe(kind: AllocatorKind) -> str:
    """Say in one line what a policy does and whether a server could use it."""
    return f"{kind.description} ({UNREACHABLE})" if kind.needs_future else kind.description


def _add_arguments(_parser: ArgumentParser) -> None:
    """Declare nothing: the list takes no flags."""


def _run(_arguments: Namespace) -> int:
    width = max(map(len, ALLOCATORS))
    for name, kind in ALLOCATORS.items():
        print(f"{name:<{width}}  {describe(kind)}")
    return 0


ACTION = Action(add_arguments=_add_arguments, run=_run)
