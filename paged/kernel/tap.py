"""Watching what a model computes: every operation with what it was given and what came out."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import ParamSpec, TypeVar

import torch

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

Tap = Callable[[str, tuple[object, ...], Mapping[str, object], object], None]
"""Called after an operation, with its name, operands, numbers and result."""

_tap: ContextVar[Tap | None] = ContextVar("paged_tap", default=None)


@contextmanager
def watching(tap: Tap) -> Generator[None, None, None]:
    """Let a tap see every operation inside the block, but not those that torch compiles.

    What it is shown belongs to the model: it must copy what it keeps, and change nothing.
    """
    token = _tap.set(tap)
    try:
        yield
    finally:
        _tap.reset(token)


def is_watched() -> bool:
    """Say whether a tap sees operations."""
    return _tap.get() is not None


def show(
    name: str, operands: tuple[object, ...], numbers: Mapping[str, object], result: object
) -> None:
    """Show an operation that has run to the tap, if there is one."""
    tap = _tap.get()
    if tap is not None:
        tap(name, operands, numbers, result)


def watched(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Make a function an operation that taps see."""

    @wraps(function)
    def call(*operands: Parameters.args, **numbers: Parameters.kwargs) -> Result:
        result = function(*operands, **numbers)
        if not torch.compiler.is_compiling():
            show(function.__name__, operands, numbers, result)
        return result

    return call
