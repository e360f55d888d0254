"""Hold compiled kernels to what their files promise, without a device."""

from __future__ import annotations

from collections import Counter

from paged.kernel.directives import Directives
from paged.kernel.nvrtc import Cubin
from paged.kernel.resources import resources
from paged.kernel.sass import missing_claims, opcodes


def resource_faults(cubin: Cubin, directives: Directives) -> list[str]:
    """Return what is wrong with the registers of a file's kernels: spills, or above its bound.

    Raises KernelCompileError where the assembler's log lacks an entry.
    """
    faults: list[str] = []
    for entry, taken in resources(cubin).items():
        if taken.spills:
            faults.append(
                f"{entry} on {cubin.arch}: expected no spills, got {taken.spill_store_bytes} "
                f"bytes of stores and {taken.spill_load_bytes} of loads"
            )
        bound = directives.max_registers
        if bound is not None and taken.num_registers > bound:
            faults.append(
                f"{entry} on {cubin.arch}: expected at most {bound} registers, "
                f"got {taken.num_registers}"
            )
    return faults


def claim_faults(cubin: Cubin, directives: Directives) -> list[str]:
    """Return the instructions that a file claims for this architecture and no entry has.

    Raises BackendUnavailable where there is no nvdisasm.
    """
    claims = [claim.opcode for claim in directives.claims if claim.arch == cubin.arch]
    if not claims:
        return []
    counts: Counter[str] = Counter()
    for entry, _ in cubin.symbols:
        counts += opcodes(cubin, entry)
    return [
        f"{cubin.arch}: expected {claim}, got none in {', '.join(e for e, _ in cubin.symbols)}"
        for claim in missing_claims(counts, claims)
    ]
