"""What the assembler says a kernel takes: registers, spills, stack, shared memory."""

from __future__ import annotations

import re
from dataclasses import dataclass

from paged.errors import KernelCompileError
from paged.kernel.nvrtc import Cubin

_ENTRY = re.compile(
    r"Compiling entry function '(?P<symbol>[^']+)'.*\n"
    r".*Function properties for .*\n"
    r".* (?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, "
    r"(?P<loads>\d+) bytes spill loads\n"
    r".*Used (?P<registers>\d+) registers(?P<rest>.*)"
)
_SHARED = re.compile(r"(\d+) bytes smem")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What one kernel takes. Registers and stack are per thread, shared memory per block."""

    num_registers: int
    stack_bytes: int
    spill_store_bytes: int
    spill_load_bytes: int
    static_shared_bytes: int

    @property
    def spills(self) -> bool:
        """Whether registers are spilled to memory."""
        return self.spill_store_bytes + self.spill_load_bytes > 0


def resources(cubin: Cubin) -> dict[str, Resources]:
    """Return what each entry takes, by entry.

    Raises KernelCompileError where the assembler's log lacks an entry.
    """
    by_symbol = {found["symbol"]: _parse(found) for found in _ENTRY.finditer(cubin.log)}
    lacking = [entry for entry, symbol in cubin.symbols if symbol not in by_symbol]
    if lacking:
        raise KernelCompileError(
            f"the assembler's log for {cubin.arch} says nothing of {', '.join(lacking)}:\n"
            f"{cubin.log}"
        )
    return {entry: by_symbol[symbol] for entry, symbol in cubin.symbols}


def _parse(found: re.Match[str]) -> Resources:
    shared = _SHARED.search(found["rest"])
    return Resources(
        num_registers=int(found["registers"]),
        stack_bytes=int(found["stack"]),
        spill_store_bytes=int(found["stores"]),
        spill_load_bytes=int(found["loads"]),
        static_shared_bytes=0 if shared is None else int(shared[1]),
    )
