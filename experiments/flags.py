"""Command lines made from dataclasses: one flag for each field, and the way back."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Collection, Sequence
from dataclasses import Field, dataclass, fields
from typing import Any, TypeVar, get_type_hints

from experiments.command import Parser

OptionsType = TypeVar("OptionsType")
"""A frozen dataclass whose fields are annotated with a Flag each."""


@dataclass(frozen=True, slots=True)
class Flag:
    """How a field appears on the command line: parser, what it stands for, help text.

    It annotates the field: `Annotated[int, Flag(...)]`. A field that is False by default
    is a switch, and its parser is not used.
    """

    parse: Callable[[str], object]
    metavar: str
    text: str


def whole(most: int, *, least: int = 1) -> Callable[[str], int]:
    """Make a parser of whole numbers from least to most."""

    def parse(text: str) -> int:
        digits = text.strip()
        # Longer text is above any bound, and may be too long to convert.
        value = int(digits) if digits.isdecimal() and len(digits) <= 20 else -1
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(
                f"expected a whole number from {least} to {most}, got {text!r:.40}"
            )
        return value

    return parse


def real(text: str) -> float:
    """Parse a number."""
    try:
        return float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"expected a number, got {text!r:.40}") from error


def between(least: float, most: float) -> Callable[[str], float]:
    """Make a parser of numbers from least to most."""

    def parse(text: str) -> float:
        value = real(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(
                f"expected a number from {least:g} to {most:g}, got {text!r:.40}"
            )
        return value

    return parse


def share(text: str) -> float:
    """Parse a share: at least 0 and below 1."""
    value = real(text)
    if not 0.0 <= value < 1.0:
        raise argparse.ArgumentTypeError(
            f"expected a share of at least 0 and below 1, got {text!r:.40}"
        )
    return value


def names(text: str) -> tuple[str, ...]:
    """Parse `a,b` into distinct names in order."""
    found = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not found:
        raise argparse.ArgumentTypeError("expected names separated by commas, got none")
    return found


def parse_flags(
    kind: type[OptionsType], arguments: Sequence[str], *, prog: str, description: str
) -> OptionsType:
    """Parse a command line into options whose fields carry a Flag each.

    Raises: ConfigError; exits on --help.
    """
    parser = Parser(prog=prog, description=description)
    hints = get_type_hints(kind, include_extras=True)
    for one in _fields(kind):
        flag: Flag = hints[one.name].__metadata__[0]
        name = flag_name(one.name)
        if one.default is False:
            parser.add_argument(name, action="store_true", help=flag.text)
        else:
            parser.add_argument(
                name, type=flag.parse, default=one.default, metavar=flag.metavar, help=flag.text
            )
    return kind(**vars(parser.parse_args(arguments)))


def command_of(options: object, *, module: str, without: Collection[str]) -> str:
    """Write the command that gives these options: flags that differ from their defaults.

    without: fields that decide where results go and how they are made, not what they are.
    """
    words = ["python", "-m", module]
    for field in _fields(options):
        value = getattr(options, field.name)
        if field.name in without or value == field.default:
            continue
        words.append(flag_name(field.name))
        if isinstance(value, tuple):
            words.append(",".join(map(str, value)))
        elif value is not True:
            words.append(str(value))
    return shlex.join(words)


def flag_name(field: str) -> str:
    """Name the flag of a field."""
    return f"--{field.replace('_', '-')}"


def _fields(options: Any) -> tuple[Field[Any], ...]:
    return fields(options)
