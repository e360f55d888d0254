"""A configuration in one word of a command line: `attention=v2,allocator=virtual`."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import NoneType
from typing import TYPE_CHECKING, get_args, get_type_hints

from paged.cli.byte_size import byte_size
from paged.errors import ConfigError

if TYPE_CHECKING:
    from paged.engine.llm_config import LLMConfig

DEFAULT = "default"
"""The configuration that changes nothing."""


_OTHERS = {"kernels", "cuda_graph_sizes"}


def parse_config(text: str, base: LLMConfig) -> LLMConfig:
    """Change a configuration as a text says.

    Names are those of operations, whose value is a kernel as for `--kernel`, and of the fields
    of `LLMConfig` with one value; `none` is no value, and memory may have a unit.
    Raises: ConfigError; KernelSourceError for a kernel that cannot serve.
    """
    from paged.kernel.registry import OP_NAMES, resolve_variant

    hints = get_type_hints(type(base))
    kinds = {name: kind for name, kind in hints.items() if name not in _OTHERS}
    kernels: dict[str, str] = {}
    options: dict[str, object] = {}
    for name, value in _pairs(text):
        if name in OP_NAMES:
            kernels[name] = resolve_variant(name, value)
        elif name in kinds:
            options[name] = _value(name, kinds[name], value)
        else:
            raise ConfigError(
                f"unknown option {name!r:.60}; expected an operation ({', '.join(OP_NAMES)}) or an"
                f" option ({', '.join(sorted(kinds))})"
            )
    kernels = {**base.kernels, **kernels}
    return replace(base, kernels=kernels, **options)  # pyright: ignore[reportArgumentType]


def _pairs(text: str) -> list[tuple[str, str]]:
    if text == DEFAULT:
        return []
    pairs: dict[str, str] = {}
    for part in text.split(","):
        written, _, value = (word.strip() for word in part.partition("="))
        name = written.replace("-", "_")
        if not name or not value:
            raise ConfigError(f"expected NAME=VALUE,... or {DEFAULT}, got {text!r:.80}")
        if pairs.setdefault(name, value) != value:
            raise ConfigError(f"{name} has two values in {text!r:.80}")
    return list(pairs.items())


def _switch(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


_KINDS: Mapping[object, tuple[Callable[[str], object], str]] = {
    bool: (_switch, "true or false"),
    int: (int, "an integer"),
    float: (float, "a number"),
    str: (str, "a text"),
}


def _value(name: str, kind: object, text: str) -> object:
    """Read a value of the type of a field, which is a plain one, or that or None."""
    choices = get_args(kind)
    if text.lower() == "none" and NoneType in choices:
        return None
    read, expected = next(_KINDS[each] for each in choices or (kind,) if each in _KINDS)
    try:
        return byte_size(text) if name.endswith("_bytes") else read(text)
    except ArgumentTypeError as error:
        raise ConfigError(f"{name}: {error}") from error
    except (ValueError, KeyError) as error:
        raise ConfigError(f"{name}: expected {expected}, got {text!r:.40}") from error
