"""From a CUDA source to the C++ text that the host compiler is given."""

from __future__ import annotations

import re

from paged.kernel.source import KernelSource

_HIDDEN = re.compile(
    r"//(?:\\\n|[^\n])*|/\*.*?\*/"
    r'|R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"'
    r'|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL,
)
_BETWEEN = r"(?:\s|__align__\s*\([^)]*\)|alignas\s*\([^)]*\)|volatile|const)"
_EXTERN_SHARED = re.compile(
    rf"\bextern\b(?P<before>{_BETWEEN}*)\b__shared__\b(?P<middle>[^;\[\]{{}}]*)\[\s*\]\s*;"
)
_STATIC_SHARED = re.compile(r"\bstatic(\s+)__shared__\b|\b__shared__(\s+)static\b")

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
        pieces += [
            text[position : found.start()],
            f'extern __thread {before}{declaration}[] __asm__("{DYNAMIC_SHARED}");',
        ]
        position = found.end()
    rewritten = "".join([*pieces, text[position:]])
    code = blank_hidden(rewritten)
    for found in reversed(list(_STATIC_SHARED.finditer(code))):
        space = found.group(1) or found.group(2)
        rewritten = f"{rewritten[: found.start()]}{space}__shared__{rewritten[found.end() :]}"
    return rewritten


def has_dynamic_shared(text: str) -> bool:
    """Return whether a text declares dynamic shared memory."""
    return _EXTERN_SHARED.search(blank_hidden(text)) is not None


def translate(source: KernelSource) -> str:
    """Return the C++ text of a source: prelude, text, and a launcher for each entry."""
    dynamic = any(has_dynamic_shared(t) for t in (source.text, *source.headers.values()))
    parts = (
        source.prelude,
        _line_directive(source.label),
        rewrite_shared(source.text),
        _line_directive("<entries>"),
        _footer(source, dynamic),
    )
    return "\n".join(parts)


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


def _footer(source: KernelSource, dynamic: bool) -> str:
    lines = ["#pragma GCC visibility push(default)", 'extern "C" {']
    if dynamic:
        lines += [
            f"__thread char {DYNAMIC_SHARED}_bytes[paged_interpret::kMaxDynamicSharedBytes +"
            f" paged_interpret::kSharedMarginBytes]"
            f' __asm__("{DYNAMIC_SHARED}") __attribute__((aligned(1024)));',
            f"char* {DYNAMIC_SHARED}_address() {{ return {DYNAMIC_SHARED}_bytes; }}",
        ]
    for i, entry in enumerate(source.entries):
        lines += [
            f"void paged_entry_{i}(void** a) {{ paged_interpret::call(&{entry}, a); }}",
            f"size_t paged_parameters_{i}(size_t* b, size_t n)"
            f" {{ return paged_interpret::parameter_bytes(&{entry}, b, n); }}",
        ]
    return "\n".join([*lines, "}", "#pragma GCC visibility pop", ""])
