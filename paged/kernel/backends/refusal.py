"""What the interpreter cannot run, found by name before anything is compiled."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from paged.errors import UnsupportedFeature
from paged.kernel.backends.translation import blank_hidden, line_of
from paged.kernel.source import KernelSource

PORTABLE_HEADER = "portable.cuh"


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
        r"\bcuda(?:Malloc|Free|Memcpy|Memset|Launch|Device|Stream|Event|GetLast)\w*\s*\(",
        *("the CUDA runtime's host functions", "allocate and copy from Python"),
    ),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that a line of a file breaks."""

    label: str
    line: int
    rule: Rule


def refuse(source: KernelSource, preprocess: Callable[[], str | None]) -> None:
    """Raise UnsupportedFeature where the source uses what cannot be interpreted.

    Args:
        source: its text and quoted headers are searched, but for our portability header.
        preprocess: returns the text after the preprocessor. Called only where something is
            found, to leave out what stands under conditions that do not hold here.

    """
    texts = {source.label: source.text}
    texts |= {n: t for n, t in source.headers.items() if not n.endswith(PORTABLE_HEADER)}
    findings = [finding for label, text in texts.items() for finding in _findings(label, text)]
    if not findings:
        return
    active = _active_lines(preprocess())
    if active is not None:
        findings = [f for f in findings if _is_active(f, active)]
    if findings:
        lines = [f"{f.label}:{f.line}: {f.rule.what}; {f.rule.instead}" for f in findings[:8]]
        raise UnsupportedFeature("the interpreter cannot run this source:\n" + "\n".join(lines))


def _findings(label: str, text: str) -> Iterator[Finding]:
    code = blank_hidden(text)
    for rule in RULES:
        for found in rule.pattern.finditer(code):
            yield Finding(label, line_of(code, found.start()), rule)


def _active_lines(text: str | None) -> dict[str, set[int]] | None:
    """Return the lines of each file that the preprocessor left any text of."""
    if text is None:
        return None
    active: dict[str, set[int]] = {}
    marker = re.compile(r'# (\d+) "((?:\\.|[^"\\])*)"')
    lines: set[int] = set()
    number = 0
    for line in text.split("\n"):
        found = marker.match(line)
        if found:
            number = int(found[1])
            lines = active.setdefault(found[2].replace('\\"', '"').replace("\\\\", "\\"), set())
            continue
        if line.strip():
            lines.add(number)
        number += 1
    return active


def _is_active(finding: Finding, active: dict[str, set[int]]) -> bool:
    return any(
        finding.line in lines
        for label, lines in active.items()
        if label == finding.label or label.endswith(f"/{finding.label}")
    )
