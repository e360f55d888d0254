"""From a CUDA source to the C++ text that the host compiler is given."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from paged.kernel.source import KernelSource

_HIDDEN = re.compile(
    r"//(?:\\\n|[^\n])*|/\*.*?\*/"
    r'|R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"'
    r'|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL,
)
_BETWEEN = r"(?:\s|__align__\s*\([^)]*\)|alignas\s*\([^)]*\)|volatile|const)"
_ATTRIBUTES = r"(?:__attribute__\s*\(\(.*?\)\)\s*|__align__\s*\([^)]*\)\s*)*"
_EXTERN_SHARED = re.compile(
    rf"\bextern\b(?P<before>{_BETWEEN}*)\b__shared__\b(?P<middle>[^;\[\]{{}}]*)\[\s*\]"
    rf"(?P<after>(?:\[[^;\[\]]*\])*)\s*(?P<attributes>{_ATTRIBUTES});"
)
_STATIC_SHARED = re.compile(r"\bstatic(\s+)__shared__\b|\b__shared__(\s+)static\b")

_SCOPE = re.compile(r"\bnamespace\b\s*(?P<names>[\w:\s]*?)\s*\{|[{}]")

_ANGLED = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<([^>]+)>", re.MULTILINE)

INCLUDE_DIR = Path(__file__).resolve().parents[3] / "kernels_cu" / "interpret" / "include"
DYNAMIC_SHARED = "paged_dynamic_shared"


def blank_hidden(text: str) -> str:
    """Return the text with comments and literals replaced by blanks of equal length."""
    return _HIDDEN.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def line_of(text: str, offset: int) -> int:
    """Return the number of the line, from 1, that an offset lies in."""
    return text.count("\n", 0, offset) + 1


def rewrite_shared(text: str) -> str:
    """Return the text with shared arrays as C++ can declare them, line for line.

    `extern __shared__ T x[];` becomes a thread-local array that names the one dynamic array;
    `static` beside `__shared__` goes, since the macro brings its own.
    """
    code = blank_hidden(text)
    pieces: list[str] = []
    position = 0
    for found in _EXTERN_SHARED.finditer(code):
        declaration = text[found.start("middle") : found.end("middle")]
        before = text[found.start("before") : found.end("before")]
        after, attributes = (text[slice(*found.span(n))] for n in ("after", "attributes"))
        array = f'{declaration}[]{after} __asm__("{DYNAMIC_SHARED}") {attributes}'
        pieces += [text[position : found.start()], f"extern __thread {before}{array};"]
        position = found.end()
    rewritten = "".join([*pieces, text[position:]])
    code = blank_hidden(rewritten)
    for found in reversed(list(_STATIC_SHARED.finditer(code))):
        space = found.group(1) or found.group(2)
        rewritten = f"{rewritten[: found.start()]}{space}__shared__{rewritten[found.end() :]}"
    return rewritten


def dynamic_arrays(text: str) -> list[str]:
    """Return the mangled names of a text's dynamic shared arrays.

    g++ forgets the assembler name of a declaration in a function template, so that the array
    must exist under its mangled name too.
    """
    code = blank_hidden(text)
    arrays: list[str] = []
    for found in _EXTERN_SHARED.finditer(code):
        name = re.findall(r"\w+", found["middle"])[-1]
        parts = (*_namespaces(code[: found.start()]), name)
        nested = "".join(f"{len(part)}{part}" for part in parts)
        arrays.append(name if len(parts) == 1 else f"_ZN{nested}E")
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
    texts = (source.text, *source.headers.values())
    arrays = sorted({name for text in texts for name in dynamic_arrays(text)})
    parts = (
        *_cuda_includes((source.prelude, *texts)),
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
