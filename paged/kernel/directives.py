"""Read how a kernel file describes itself: its `// paged:` lines.

With them a new variant is one new file: nothing is registered anywhere else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from paged.errors import KernelSourceError
from paged.kernel.spec import Launch, Operand
from paged.kernel.suggestion import suggestion

_LINE = re.compile(r"^[ \t]*//[ \t]*paged:[ \t]*(\w+)[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_CALL = re.compile(r"(grid|block|shared)\s*\(")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """An instruction that must appear in the compiled code of an architecture."""

    arch: str
    opcode: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Directives:
    """All that a file says of itself.

    Attributes:
        types: dtypes the variant takes for a type variable, fewer than its operation allows.
        alignments_bytes: what addresses and strides of operands must be multiples of.
        max_registers: bound on registers per thread that the compile gate holds it to.

    """

    op: str | None = None
    summary: str = ""
    symbols: Mapping[str, str] = field(default_factory=dict[str, str])
    requires: tuple[str, ...] = ()
    types: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    constants: tuple[str, ...] = ()
    alignments_bytes: Mapping[str, int] = field(default_factory=dict[str, int])
    workspaces: tuple[Operand, ...] = ()
    launches: tuple[Launch, ...] = ()
    max_registers: int | None = None
    claims: tuple[Claim, ...] = ()


def parse_directives(text: str, label: str) -> Directives:
    """Read the directives of a kernel file.

    Raises: KernelSourceError, which names the line.
    """
    found = Directives()
    for match in _LINE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        key, value = match.groups()
        try:
            if key not in _READERS:
                guess = suggestion(key, _READERS)
                raise ValueError(f"expected one of {', '.join(_READERS)}, got {key!r}{guess}")
            found = _READERS[key](found, value)
        except ValueError as error:
            raise KernelSourceError(f"{label}:{line}: // paged: {key}: {error}") from error
    return found


def _op(found: Directives, value: str) -> Directives:
    return replace(found, op=value)


def _summary(found: Directives, value: str) -> Directives:
    return replace(found, summary=value)


def _pair(value: str) -> tuple[str, str]:
    name, equals, rest = (part.strip() for part in value.partition("="))
    if not equals or not name.isidentifier() or not rest:
        raise ValueError(f"expected NAME = VALUE, got {value!r}")
    return name, rest


def _symbol(found: Directives, value: str) -> Directives:
    name, expression = _pair(value)
    return replace(found, symbols={**found.symbols, name: expression})


def _types(found: Directives, value: str) -> Directives:
    name, dtypes = _pair(value)
    return replace(found, types={**found.types, name: tuple(dtypes.split())})


def _require(found: Directives, value: str) -> Directives:
    return replace(found, requires=(*found.requires, value))


def _constant(found: Directives, value: str) -> Directives:
    return replace(found, constants=(*found.constants, *value.split()))


def _workspace(found: Directives, value: str) -> Directives:
    try:
        name, dtype, *axes = value.split()
    except ValueError as error:
        raise ValueError(f"expected NAME DTYPE [SIZE ...], got {value!r}") from error
    workspace = Operand(name=name, dtype=dtype, shape=" ".join(axes), intent="workspace")
    return replace(found, workspaces=(*found.workspaces, workspace))


def _align(found: Directives, value: str) -> Directives:
    name, _, size = value.partition(" ")
    if not size.strip().isdecimal():
        raise ValueError(f"expected OPERAND BYTES, got {value!r}")
    return replace(found, alignments_bytes={**found.alignments_bytes, name: int(size)})


def _registers(found: Directives, value: str) -> Directives:
    if not value.isdecimal():
        raise ValueError(f"expected the most registers a thread may have, got {value!r}")
    return replace(found, max_registers=int(value))


def _claim(found: Directives, value: str) -> Directives:
    try:
        arch, opcode = value.split()
    except ValueError as error:
        raise ValueError(f"expected ARCH OPCODE, got {value!r}") from error
    return replace(found, claims=(*found.claims, Claim(arch=arch, opcode=opcode)))


def _launch(found: Directives, value: str) -> Directives:
    head = _CALL.search(value)
    entry = (value if head is None else value[: head.start()]).strip()
    parts: dict[str, tuple[str, ...]] = {}
    position = len(value) if head is None else head.start()
    while match := _CALL.match(value, position):
        end = _closing(value, match.end())
        parts[match[1]] = _split(value[match.end() : end])
        position = end + 1
        while position < len(value) and value[position].isspace():
            position += 1
    if position != len(value) or not entry or not {"grid", "block"} <= parts.keys():
        raise ValueError(f"expected ENTRY grid(X[, Y[, Z]]) block(...) [shared(BYTES)]: {value!r}")
    shared_bytes, *surplus = parts.get("shared", ("0",))
    if surplus:
        raise ValueError(f"expected one size in shared(BYTES), got {value!r}")
    launch = Launch(
        entry=entry, grid=parts["grid"], block=parts["block"], shared_bytes=shared_bytes
    )
    return replace(found, launches=(*found.launches, launch))


def _closing(text: str, start: int) -> int:
    """Return where the parenthesis closes that opened just before start."""
    depth = 1
    for i in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    raise ValueError(f"expected a closing parenthesis in {text!r}")


def _split(text: str) -> tuple[str, ...]:
    """Split at the commas outside parentheses."""
    parts, depth = [""], 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return tuple(part.strip() for part in parts)


_READERS: Mapping[str, Callable[[Directives, str], Directives]] = {
    "op": _op,
    "summary": _summary,
    "symbol": _symbol,
    "require": _require,
    "types": _types,
    "constant": _constant,
    "align": _align,
    "workspace": _workspace,
    "launch": _launch,
    "registers": _registers,
    "claim": _claim,
}
