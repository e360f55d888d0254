"""What the interpreter cannot run, found by name before anything is compiled."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from paged.errors import UnsupportedFeature
from paged.kernel.backends.translation import DYNAMIC_SHARED, blank_hidden, line_of
from paged.kernel.source import KernelSource

PORTABLE_HEADER = "portable.cuh"

ARCHS = (800, 750, 700, 600, 520)
"""Values of `__CUDA_ARCH__`: the first that has all that is interpreted, then those before it."""

_MARKER = re.compile(r'# (\d+) "((?:\\.|[^"\\])*)"')


@dataclass(frozen=True, slots=True)
class Rule:
    """A name in the source, and what to say where it stands."""

    pattern: re.Pattern[str]
    what: str
    instead: str


def _rule(pattern: str, what: str, instead: str) -> Rule:
    return Rule(re.compile(pattern), what, instead)


_GPU_ONLY = "run this kernel on the cuda backend"
_PORTABLE = f"use {PORTABLE_HEADER}, which has cp.async, ldmatrix and mma for both"

RULES = (
    _rule(r"\b(?:asm|__asm__|__asm)\b", "inline assembly", _PORTABLE),
    _rule(r"<<<", "a launch from device code", "make each launch from Python"),
    _rule(
        r"\b(?:cudaTextureObject_t|cudaSurfaceObject_t|tex[123]D\w*|surf[123]D\w*|texture\s*<)",
        *("textures and surfaces", "read through plain pointers"),
    ),
    _rule(r"\b(?:__cluster_dims__|this_cluster|cluster_group)\b", "clusters", _GPU_ONLY),
    _rule(
        r"\bthis_grid\s*\(\s*\)\s*\.\s*sync\b|\bthis_multi_grid\b"
        r"|\b(\w+)\s*=\s*(?:\w+\s*::\s*)*this_grid\s*\(\s*\)"
        r"(?=[\s\S]*?(?:\b\1\s*\.\s*sync\b|\bsync\s*\(\s*\1\s*\)))",
        *("a barrier of the whole grid", "split the kernel into two launches"),
    ),
    _rule(r"\b__barrier_sync(?:_count)?\b", "named barriers", "use __syncthreads"),
    _rule(
        r"\b__is(?:Grid)?Constant\b|\b__cvta_(?:\w+_)?grid_constant\w*\b",
        *("the space of constants", "tell constants by a parameter"),
    ),
    _rule(
        r"#\s*include\s*<cuda_fp[46]\.h>|\b__nv_fp(?:4|6)\w*|\b__nv_fp8\w*_e8m0\b",
        *("floats of 4 and 6 bits and powers of two", _GPU_ONLY),
    ),
    _rule(r"\b__managed__\b", "managed variables", "pass a tensor"),
    _rule(r"\b(?:nvcuda|wmma)\s*::", "the wmma namespace", _PORTABLE),
    _rule(r"\bcub\s*::|#\s*include\s*<cub/", "CUB", "write the loop, or " + _GPU_ONLY),
    _rule(r"#\s*include\s*<curand", "cuRAND", "draw with a Philox of your own"),
    _rule(r"\bthrust\s*::|#\s*include\s*<thrust/", "Thrust", "write the loop"),
    _rule(r"\b(?:cute|cutlass)\s*::|#\s*include\s*<(?:cute|cutlass)/", "CUTLASS", _GPU_ONLY),
    _rule(
        r"\bcuda\s*::\s*(?:barrier|pipeline|atomic\w*|memcpy_async|ptx)\b"
        r"|#\s*include\s*<cuda/(?!std/)",
        *("the libcu++ namespace cuda::", "use __syncthreads, atomics or " + PORTABLE_HEADER),
    ),
    _rule(r"\b(?:CUtensorMap|__wgmma\w*)\b", "tensor maps and wgmma", _GPU_ONLY),
    _rule(
        r"\bcuda(?:Malloc|Free|Memcpy|Memset|Launch|Device|Stream|Event|GetLast)\w*(?<!_t)\s*\(",
        *("the CUDA runtime's host functions", "allocate and copy from Python"),
    ),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that a line of a file breaks."""

    label: str
    line: int
    rule: Rule


def interpreted_arch(source: KernelSource, preprocess: Callable[[int], str | None]) -> int:
    """Return the value of `__CUDA_ARCH__` to compile a source with, out of `ARCHS`.

    It is the first for which nothing remains that cannot be interpreted, so that of code for
    several architectures one that can be is taken. Raises UnsupportedFeature where there is none.

    Args:
        source: its text and quoted headers are searched, but for our portability header.
        preprocess: returns the text after the preprocessor for an architecture, or None where it
            is refused. Called only where something is found.

    """
    texts = {source.label: source.text}
    texts |= {n: t for n, t in source.headers.items() if not n.endswith(PORTABLE_HEADER)}
    written = _findings(texts)
    if not written:
        return ARCHS[0]
    first: list[Finding] = []
    for arch in ARCHS:
        text = preprocess(arch)
        remaining = written if text is None else _findings(_active_texts(text, texts))
        if not remaining:
            return arch
        first = first or remaining
    lines = [f"{f.label}:{f.line}: {f.rule.what}; {f.rule.instead}" for f in first[:8]]
    raise UnsupportedFeature("the interpreter cannot run this source:\n" + "\n".join(lines))


def _findings(texts: Mapping[str, str]) -> list[Finding]:
    codes = {label: blank_hidden(text) for label, text in texts.items()}
    return [
        Finding(label, line_of(code, found.start()), rule)
        for label, code in codes.items()
        for rule in RULES
        for found in rule.pattern.finditer(code)
    ]


def _active_texts(text: str, labels: Iterable[str]) -> dict[str, str]:
    """Return what the preprocessor left of each file, line for line, with its macros expanded."""
    lines: dict[str, dict[int, str]] = {}
    current: dict[int, str] = {}
    number = 0
    for line in text.replace(f'__asm__("{DYNAMIC_SHARED}")', "").split("\n"):
        found = _MARKER.match(line)
        if found:
            number = int(found[1])
            name = found[2].replace('\\"', '"').replace("\\\\", "\\")
            label = next((n for n in labels if name == n or name.endswith(f"/{n}")), None)
            current = {} if label is None else lines.setdefault(label, {})
            continue
        current[number] = current.get(number, "") + line
        number += 1
    return {
        label: "\n".join(found.get(n, "") for n in range(1, max(found, default=0) + 1))
        for label, found in lines.items()
    }
