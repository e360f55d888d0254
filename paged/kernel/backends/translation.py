"""From a CUDA source to the C++ text that the host compiler is given."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path

from paged.kernel.source import KernelSource

_HIDDEN = re.compile(
    r"//(?:\\\n|[^\n])*|/\*.*?\*/"
    r'|R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"'
    r'|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL,
)
PARENTHESES = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
"""Parentheses and what stands in them, nested three deep at most."""

_ALIGNMENT = rf"(?:__align__|alignas|__attribute__)\s*{PARENTHESES}"
_BETWEEN = rf"(?P<{{}}>(?:\s|{_ALIGNMENT}|volatile\b|const\b)*)"
_SIZES = r"\[\s*\](?:\[[^;\[\]]*\])*"
_EXTERN_SHARED = re.compile(
    rf"\b(?:extern\b{_BETWEEN.format('before')}\b__shared__"
    rf"|__shared__\b{_BETWEEN.format('between')}\bextern)\b(?P<middle>[^;\[\]{{}}]*){_SIZES}"
    rf"(?P<attributes>(?:\s*{_ALIGNMENT})*)(?P<more>(?:\s*,\s*\w+\s*{_SIZES})*)"
)
_SIZES_OF = re.compile(_SIZES)
_STATIC_SHARED = re.compile(r"\bstatic(\s+)__shared__\b|\b__shared__(\s+)static\b")
_ATTRIBUTED = re.compile(
    rf"\b__shared__\b(?P<attributes>(?:\s*(?:alignas\s*{PARENTHESES}|\[\[[^\[\]]*\]\]))+)"
)

_VOLATILE = re.compile(r"\bvolatile\b(?!\s*(?:\(|goto\b))")

_SCOPE = re.compile(r"\bnamespace\b\s*(?P<names>[\w:\s]*?)\s*\{|[{}]")

_ANGLED = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<([^>]+)>", re.MULTILINE)

INCLUDE_DIR = Path(__file__).resolve().parents[3] / "kernels_cu" / "interpret" / "include"
DYNAMIC_SHARED = "paged_dynamic_shared"


@lru_cache(maxsize=256)
def blank_hidden(text: str) -> str:
    """Return the text with comments and literals replaced by blanks of equal length."""
    return _HIDDEN.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def line_of(text: str, offset: int) -> int:
    """Return the number of the line, from 1, that an offset lies in."""
    return text.count("\n", 0, offset) + 1


def rewrite_shared(text: str) -> str:
    """Return the text with shared variables as C++ can declare them, line for line.

    `extern __shared__ T x[];` becomes a thread-local array that names the one dynamic array;
    `static` beside `__shared__` goes, since the macro brings its own; attributes behind it, which
    are CUDA's only because it is one itself, come before it.
    """
    text = _replace(_ATTRIBUTED, _attributes_first, text)
    text = _replace(_EXTERN_SHARED, _dynamic_array, text)
    return _replace(_STATIC_SHARED, _static_array, text)


def _replace(
    pattern: re.Pattern[str], replacement: Callable[[re.Match[str], str], str], text: str
) -> str:
    """Return the text with what the pattern finds outside of comments and literals replaced."""
    pieces: list[str] = []
    position = 0
    for found in pattern.finditer(blank_hidden(text)):
        pieces += [text[position : found.start()], replacement(found, text)]
        position = found.end()
    return "".join([*pieces, text[position:]])


def _attributes_first(found: re.Match[str], text: str) -> str:
    return f"{text[slice(*found.span('attributes'))]} __shared__"


def _static_array(found: re.Match[str], _: str) -> str:
    return f"{found[1] or found[2]}__shared__"


def _dynamic_array(found: re.Match[str], text: str) -> str:
    between = "before" if found["before"] is not None else "between"
    before = text[slice(*found.span(between))]
    # The one array is aligned for all of them.
    before = re.sub(rf"(?:alignas|__attribute__)\s*{PARENTHESES}", _only_lines, before)
    code = found.string
    pieces: list[str] = []
    position = found.start("middle")
    for sizes in _SIZES_OF.finditer(code, position, found.end()):
        pieces.append(f'{text[position : sizes.end()]} __asm__("{DYNAMIC_SHARED}") ')
        position = sizes.end()
    return f"extern __thread {before}{''.join(pieces)}{text[position : found.end()]}"


def _only_lines(found: re.Match[str]) -> str:
    return "\n" * found.group().count("\n")


def dynamic_arrays(text: str) -> list[str]:
    """Return the mangled names of a text's dynamic shared arrays.

    g++ forgets the assembler name of a declaration in a function template, so that the array
    must exist under its mangled name too.
    """
    code = blank_hidden(text)
    arrays: list[str] = []
    for found in _EXTERN_SHARED.finditer(code):
        names = re.findall(r"\w+", found["middle"])[-1:] + re.findall(r"(\w+)\s*\[", found["more"])
        scope = _namespaces(code[: found.start()])
        for name in names:
            nested = "".join(f"{len(part)}{part}" for part in (*scope, name))
            arrays.append(f"_ZN{nested}E" if scope else name)
    return arrays


def _namespaces(code: str) -> list[str]:
    """Return the namespaces that are open at the end of a text."""
    scopes: list[list[str]] = []
    for found in _SCOPE.finditer(code):
        if found.group() == "}":
            del scopes[-1:]
        elif found["names"] is None:
            scopes.append([])
        else:
            scopes.append(found["names"].split("::") if found["names"] else ["_GLOBAL__N_1"])
    return [name.strip() for names in scopes for name in names]


def translate(source: KernelSource) -> str:
    """Return the C++ text of a source: macros, prelude, text, and a launcher for each entry.

    CUDA's own headers come before the macros, which might be named as something inside them.
    """
    arrays = sorted({name for text in source.texts for name in dynamic_arrays(text)})
    parts = (
        *_cuda_includes((source.prelude, *source.texts)),
        *(f"#define {name} {value}" for name, value in source.defines),
        source.prelude,
        _line_directive(source.label),
        rewrite_shared(source.text),
        _line_directive("<entries>"),
        _footer(source, arrays),
    )
    return "\n".join(parts)


def _cuda_includes(texts: Iterable[str]) -> list[str]:
    names = {name for text in texts for name in _ANGLED.findall(text)}
    return [f"#include <{name}>" for name in sorted(names) if (INCLUDE_DIR / name).is_file()]


def translate_headers(source: KernelSource) -> dict[str, str]:
    """Return the quoted headers where one of them declares shared memory in need of rewriting."""
    rewritten = {name: rewrite_shared(text) for name, text in source.headers.items()}
    if rewritten == source.headers:
        return {}
    return {
        name: f"{_line_directive(name)}\n{text}"
        for name, text in rewritten.items()
        if ".." not in name
    }


def reads_volatile(source: KernelSource) -> bool:
    """Return whether a source or a header of it declares something volatile, but for assembly."""
    return any(_VOLATILE.search(blank_hidden(text)) for text in source.texts)


def _line_directive(label: str) -> str:
    escaped = label.replace("\\", "\\\\").replace('"', '\\"')
    return f'#line 1 "{escaped}"'


def _footer(source: KernelSource, arrays: list[str]) -> str:
    lines = ["#pragma GCC visibility push(default)", 'extern "C" {']
    if arrays:
        lines += [
            f"__thread char {DYNAMIC_SHARED}_bytes[paged_interpret::kMaxDynamicSharedBytes +"
            f" paged_interpret::kSharedMarginBytes]"
            f' __asm__("{DYNAMIC_SHARED}") __attribute__((aligned(1024)));',
            f"char* {DYNAMIC_SHARED}_address() {{ return {DYNAMIC_SHARED}_bytes; }}",
        ]
        lines += [
            f'asm(".set {name}, {DYNAMIC_SHARED}\\n.type {name}, @tls_object");' for name in arrays
        ]
    for i, entry in enumerate(source.entries):
        lines += [
            f"void paged_entry_{i}(void** a) {{ paged_interpret::call(&{entry}, a); }}",
            f"size_t paged_parameters_{i}(size_t* b, size_t n)"
            f" {{ return paged_interpret::parameter_bytes(&{entry}, b, n); }}",
        ]
    return "\n".join([*lines, "}", "#pragma GCC visibility pop", ""])
