"""The instruction sets that the host backend is built for, and which of them this CPU has."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from functools import lru_cache

from paged.errors import ConfigError
from paged.kernel.backends.host_compiler import CPU_INFO


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLevel:
    """One build of the host library.

    Attributes:
        march: the compiler's name of the instruction set.
        num_lanes: floats of a vector.
        cpu_flags: what the CPU must have, as the kernel of the system names it.

    """

    name: str
    march: str
    num_lanes: int
    cpu_flags: frozenset[str]

    @property
    def flags(self) -> tuple[str, ...]:
        """Compiler flags of this level."""
        return (f"-march={self.march}", f"-DPAGED_HOST_LANES={self.num_lanes}")

    @property
    def tile_features(self) -> int:
        """Outputs of a tile of a packed weight: two vectors of them."""
        return 2 * self.num_lanes


_V2 = frozenset({"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"})
_V3 = _V2 | {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}
_V4 = _V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}

# AVX512-BF16 is not used: it would round the activations to 8 bits.
LEVELS = {
    level.name: level
    for level in (
        HostLevel(name="avx512", march="x86-64-v4", num_lanes=16, cpu_flags=_V4),
        HostLevel(name="avx2", march="x86-64-v3", num_lanes=8, cpu_flags=_V3),
        HostLevel(name="baseline", march="x86-64-v2", num_lanes=4, cpu_flags=_V2),
    )
}
"""All levels, the best first."""


@lru_cache(maxsize=1)
def cpu_levels() -> tuple[HostLevel, ...]:
    """Return the levels that this CPU can run, the best first; none where it is no x86-64."""
    if platform.machine() != "x86_64" or not CPU_INFO.is_file():
        return ()
    lines = CPU_INFO.read_text().splitlines()
    flags = next((line for line in lines if line.startswith("flags")), "")
    return levels_of(frozenset(flags.partition(":")[2].split()))


def levels_of(cpu_flags: frozenset[str]) -> tuple[HostLevel, ...]:
    """Return the levels that a CPU with these flags can run, the best first."""
    return tuple(level for level in LEVELS.values() if level.cpu_flags <= cpu_flags)


def find_level(name: str) -> HostLevel:
    """Return a level by name. Raises ConfigError, which lists them."""
    if name not in LEVELS:
        raise ConfigError(f"host level must be one of {', '.join(LEVELS)}, got {name!r}")
    return LEVELS[name]
