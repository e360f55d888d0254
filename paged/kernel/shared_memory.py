"""How much shared memory a block has on a GPU, and how much the arrays of a kernel take."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping

MAX_STATIC_BYTES = 48 * 1024
"""Of arrays with sizes in the source, on every GPU. What takes more has to be dynamic."""

MAX_BYTES: Mapping[str, int] = {
    arch: kib * 1024
    for arch, kib in (("sm_80", 163), ("sm_86", 99), ("sm_89", 99), ("sm_90", 227), ("sm_100", 227))
}
"""Of a block, static and dynamic together, by compute capability.

Source: CUDA C++ Programming Guide, technical specifications per compute capability.
"""

_BASE = re.compile(r"(?:\w+\s*::\s*)*(\w+)")
_LOCAL = re.compile(r"_ZZ(?P<function>.*)E\d+\w+")
"""A variable of a function, in the Itanium C++ ABI."""


def static_bytes(entry: str, kernels: Collection[str], arrays: Mapping[str, int]) -> int:
    """Return the least that the static shared arrays of an entry take together.

    kernels: names of all kernels of its source. arrays: sizes in bytes by mangled name. Arrays of
    functions are left out where several kernels, or instances of one, might call them; of several
    instances the smallest counts.
    """
    base = _BASE.match(entry)
    mark = "" if base is None else f"{len(base[1])}{base[1]}"
    instances: Counter[str] = Counter()
    elsewhere = 0
    for name, size in arrays.items():
        local = _LOCAL.fullmatch(name)
        if local is not None and mark in local["function"]:
            instances[local["function"]] += size
        else:
            elsewhere += size
    is_alone = len(kernels) <= 1 and len(instances) <= 1
    return min(instances.values(), default=0) + (elsewhere if is_alone else 0)


def why_too_large(static: int, dynamic: int = 0) -> str | None:
    """Say why no GPU has so many bytes of static and dynamic shared memory for a block."""
    if static > MAX_STATIC_BYTES:
        return (
            f"a block has at most {MAX_STATIC_BYTES:,} bytes of static shared memory, got"
            f" {static:,}; declare a large array 'extern __shared__' and give its bytes to the"
            " launch"
        )
    if static + dynamic > max(MAX_BYTES.values()):
        limits = ", ".join(f"{size:,} on {arch}" for arch, size in MAX_BYTES.items())
        most = max(MAX_BYTES.values())
        return (
            f"a block has at most {most:,} bytes of shared memory ({limits}), got"
            f" {static + dynamic:,}: {dynamic:,} dynamic and {static:,} static"
        )
    return None
