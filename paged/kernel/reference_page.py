"""The reference page of the framework: every field of a specification, every header function.

It is made of the docstrings and comments in the sources:

    python -m paged.kernel.reference_page > docs/kernel_reference.md
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import MISSING, Field, dataclass, fields
from typing import Any

from paged.kernel.backends.interpret import InterpretConfig
from paged.kernel.page import table
from paged.kernel.sanitize import SanitizeConfig
from paged.kernel.spec import INCLUDE_DIR, KernelSpec, Launch, Operand, Scalar
from paged.kernel.work import Cost

CLASSES: tuple[type, ...] = (
    KernelSpec,
    Launch,
    Operand,
    Scalar,
    Cost,
    InterpretConfig,
    SanitizeConfig,
)

_ENTRY = re.compile(r"^(\w+(?:, \w+)*): (.*(?:\n    .*)*)", re.MULTILINE)
_PRIVATE = re.compile(r"^ private:\n.*?^\};", re.MULTILINE | re.DOTALL)
_CLASS = re.compile(r"^(?:struct|class) (?:alignas\(.*\) )?(\w+)", re.MULTILINE)
_FUNCTION = re.compile(
    r"(?P<comment>(?:^ *//[^\n]*\n)*)"
    r"(?P<template>^template <[^\n]*>\n)?"
    r"^(?P<indent> *)__device__ (?P<declaration>[^;{}]*?\b(?P<name>\w+)\([^;{}]*?\))"
    r"(?: const)?\s*[;{]",
    re.MULTILINE,
)


_SPECIFIERS = frozenset({"inline", "__forceinline__"})


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderFunction:
    """A function that kernels may call. `meaning` is the comment before it."""

    header: str
    name: str
    declaration: str
    meaning: str


def reference_page() -> str:
    """Return the page in Markdown."""
    return "\n".join(_sections()) + "\n"


def meanings(kind: type) -> dict[str, str]:
    """Return what the `Attributes` of a class's docstring say of its fields."""
    text = inspect.getdoc(kind) or ""
    section = text.partition("\nAttributes:\n")[2].partition("\n\n")[0]
    found = _ENTRY.findall(inspect.cleandoc(section))
    return {name: " ".join(said.split()) for names, said in found for name in names.split(", ")}


def header_functions() -> Iterator[HeaderFunction]:
    """Yield the functions of `kernels_cu/include`, and the members that have a comment."""
    for path in sorted(INCLUDE_DIR.glob("*.cuh")):
        text = _PRIVATE.sub("", path.read_text())
        for found in _FUNCTION.finditer(text):
            if found["indent"] and not found["comment"]:
                continue
            comment = (
                line.strip().removeprefix("//").strip() for line in found["comment"].splitlines()
            )
            words = f"{found['template'] or ''}{found['declaration']}".split()
            owner = _CLASS.findall(text, 0, found.start())[-1] + ": " if found["indent"] else ""
            yield HeaderFunction(
                header=path.name,
                name=found["name"],
                declaration=owner + " ".join(w for w in words if w not in _SPECIFIERS),
                meaning=" ".join(comment),
            )


def _sections() -> Iterator[str]:
    yield "# Kernel reference\n"
    yield (
        "Made of docstrings and comments by `python -m paged.kernel.reference_page`. "
        "[kernels.md](kernels.md) is the place to begin.\n"
    )
    for kind in CLASSES:
        yield f"## {kind.__name__}\n"
        yield f"{(inspect.getdoc(kind) or '').partition(chr(10))[0]}\n"
        said = meanings(kind)
        rows = [
            (f"`{f.name}`", f"`{_type(kind, f)}`", _default(f), said.get(f.name, ""))
            for f in fields(kind)
        ]
        yield table(("field", "type", "default", "meaning"), map(_escaped, rows))
    yield "## Header functions\n"
    yield (
        'In `kernels_cu/include`, namespace `paged`, included by name: `#include "softmax.cuh"`. '
        "Files begin with what they assume. `portable.cuh` includes `portable_ptx.cuh` on a GPU, "
        "and the same functions for the interpreter.\n"
    )
    functions = [(f"`{f.header}`", f"`{f.declaration}`", f.meaning) for f in header_functions()]
    yield table(("header", "function", "what it does"), map(_escaped, functions))


def _type(kind: type, field: Field[Any]) -> str:
    """Return a field's type, written out where it is an alias."""
    alias = vars(sys.modules[kind.__module__]).get(str(field.type))
    is_alias = alias is not None and not isinstance(alias, type)
    return str(alias).replace("typing.", "") if is_alias else str(field.type)


def _default(field: Field[Any]) -> str:
    if field.default_factory is not MISSING:
        return f"`{field.default_factory()!r}`"
    if field.default is MISSING:
        return "required"
    return f"`{field.default!r}`".replace(repr(INCLUDE_DIR), "kernels_cu/include")


def _escaped(row: tuple[str, ...]) -> list[str]:
    return [re.sub(r"\|", r"\\|", cell) for cell in row]


if __name__ == "__main__":
    print(reference_page(), end="")
