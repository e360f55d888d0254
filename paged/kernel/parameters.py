"""Whether kernels take what their specification passes: told by the compilers of both backends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from paged.kernel.backends.translation import blank_hidden
from paged.kernel.entries import entry_hints
from paged.kernel.source import KernelSource, Parameter

CHECK_PATH = Path(__file__).resolve().parents[2] / "kernels_cu" / "check" / "parameters.cuh"

_OTHER_ERROR = re.compile(r"^(?!<parameters>).*\berror:", re.MULTILINE)
# Lines of g++ and clang++, paragraphs of NVRTC.
_OF_CHECK = re.compile(r"^<parameters>\(\d+\):(?s:.*?)(?:\n\n|\Z)|^<parameters>:.*\n", re.MULTILINE)
# How g++ and clang++ name an instantiation, and how NVRTC does.
_VALUES = (
    re.compile(r"paged_value<(\d+), (\d+), [^'\u2019]*?>::paged_into<(.*)>['\u2019]"),
    re.compile(
        r'class "paged_parameters::paged_value<.*?\[with paged_entry=(\d+), paged_index=(\d+), '
        r'paged_given=.*?, paged_taken=(.*?)\]"'
    ),
)
_COUNTS = (
    re.compile(r"paged_values<(\d+), \d+>::paged_into<\d+(?:, )?(.*?)>['\u2019]"),
    re.compile(
        r'class "paged_parameters::paged_values<.*?\[with paged_entry=(\d+), paged_size=\d+, '
        r'paged_taken_size=\d+, paged_taken=<(.*?)>\]"'
    ),
)
_BASE = re.compile(r"(?:\w+\s*::\s*)*(\w+)")


def parameter_check(source: KernelSource) -> str:
    """Return text to go behind a source: it does not compile where a kernel's parameters differ.

    Empty where it is not known what the kernels are passed.
    """
    if source.parameters is None:
        return ""
    lines = [_check_text()]
    given = ", ".join(p.cuda or "paged_parameters::paged_any" for p in source.parameters)
    for number, entry in enumerate(source.entries):
        lines.append(
            f"template struct paged_parameters::paged_check<{number}, "
            f"paged_parameters::paged_list<{given}>, "
            f"decltype(paged_parameters::paged_taken_by(&{entry}))>;"
        )
    return "\n".join([*lines, ""])


@cache
def _check_text() -> str:
    # it is part of the main file, in which `#pragma once` is an error to some
    return '#line 1 "<parameters>"\n' + CHECK_PATH.read_text().replace("#pragma once", "")


def explained(source: KernelSource, log: str) -> str:
    """Return a compiler's log with what it comes to before it, or instead where that is all."""
    spelled = log.replace("__nv_bool", "bool")  # as NVRTC calls it
    hints = [*_count_hints(source, spelled), *_type_hints(source, spelled)]
    rest = _OF_CHECK.sub("", log) if hints or _OTHER_ERROR.search(log) else log
    is_all = bool(hints) and not _OTHER_ERROR.search(rest)
    return entry_hints(source) + "\n".join([*hints, "" if is_all else rest])


def _count_hints(source: KernelSource, log: str) -> Iterator[str]:
    passed = source.parameters or ()
    found = (match for pattern in _COUNTS for match in pattern.finditer(log))
    for number, types in dict.fromkeys((int(match[1]), match[2]) for match in found):
        entry = source.entries[number]
        taken = _declared(source, entry) or types
        given = ", ".join(map(_told, passed)) or "none"
        yield (
            f"kernel {entry!r} takes other parameters than it is passed; it takes: "
            f"{taken or 'none'}; it is passed {len(passed)}: {given}"
        )


def _type_hints(source: KernelSource, log: str) -> Iterator[str]:
    found = (match for pattern in _VALUES for match in pattern.finditer(log))
    for number, index, taken in dict.fromkeys((int(m[1]), int(m[2]), m[3]) for m in found):
        parameter = (source.parameters or ())[index]
        yield (
            f"parameter {index + 1} of kernel {source.entries[number]!r} takes {taken}, and is "
            f"passed {_told(parameter)}"
        )


def _told(parameter: Parameter) -> str:
    return f"{parameter.what} ({parameter.cuda})"


def _declared(source: KernelSource, entry: str) -> str | None:
    """Return the text of a kernel's parameter list, or None where it cannot be found."""
    base = _BASE.match(entry)
    if base is None:
        return None
    pattern = re.compile(rf"\b__global__\b[^;{{}}]*?\b{base[1]}\s*\((?P<list>[^;{{}}]*?)\)\s*[;{{]")
    for text in source.texts:
        found = pattern.search(blank_hidden(text))
        if found is not None:
            return " ".join(found["list"].split())
    return None
