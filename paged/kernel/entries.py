"""Why a compiler did not find the kernels that were asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from paged.kernel.backends.translation import PARENTHESES, blank_hidden
from paged.kernel.source import KernelSource
from paged.kernel.suggestion import closest_first

_ATTRIBUTE = re.compile(rf"\b__(?!global__)\w+__\s*{PARENTHESES}")
_KERNEL = re.compile(r"\b__global__\b[^;{}()]*?\b(\w+)\s*\(")
_TEMPLATE = re.compile(r"\btemplate\s*<[^;{}]*>\s*(?:(?:static|inline)\s+)*\Z")
_MACRO = re.compile(r"^[ \t]*#[ \t]*define\b(?:\\\n|[^\n])*\b__global__\b", re.MULTILINE)
_BASE = re.compile(r"(?:\w+\s*::\s*)*(\w+)\s*(<)?")


def kernels_in(source: KernelSource) -> dict[str, bool]:
    """Return the names of all kernels in a source and its headers, with who is a template."""
    found: dict[str, bool] = {}
    for text in source.texts:
        code = _ATTRIBUTE.sub(" ", blank_hidden(text))
        for kernel in _KERNEL.finditer(code):
            found[kernel[1]] = _TEMPLATE.search(code[: kernel.start()]) is not None
    return found


def entry_hints(source: KernelSource) -> str:
    """Return a line for each entry that no kernel of a source can be, to go before a log.

    Nothing where kernels are written by macros, which only a compiler reads.
    """
    if any(_MACRO.search(blank_hidden(text)) for text in source.texts):
        return ""
    kernels = kernels_in(source)
    hints = (hint for entry in source.entries for hint in _hints(source.label, entry, kernels))
    return "".join(f"{hint}\n" for hint in hints)


def _hints(label: str, entry: str, kernels: Mapping[str, bool]) -> Iterator[str]:
    parts = _BASE.match(entry)
    if parts is None:
        return
    name, has_arguments = parts[1], parts[2] is not None
    if name not in kernels:
        has = ", ".join(closest_first(name, kernels)) or "none: a kernel is declared __global__"
        yield f"no kernel {name!r} in {label}; it has {has}"
    elif has_arguments and not kernels[name]:
        yield f"entry {entry!r} has template arguments, and kernel {name!r} is no template"
    elif kernels[name] and not has_arguments:
        yield f"kernel {name!r} is a template; the entry must name its arguments: '{name}<...>'"
