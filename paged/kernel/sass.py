"""Read the machine instructions of a cubin with NVIDIA's disassembler."""

from __future__ import annotations

import functools
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from paged.errors import KernelCompileError
from paged.kernel.nvrtc import Cubin
from paged.kernel.toolkit import find_tool

_SECTION = re.compile(r"^\.text\.(\S+):$")
_INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+\{?\s*(?:@!?U?P\w+\s+)?([A-Z][\w.]*)")


def disassemble(cubin: Cubin) -> str:
    """Return the listing of a cubin as nvdisasm prints it.

    Raises BackendUnavailable where there is no nvdisasm, and KernelCompileError where it
    refuses the image.
    """
    return _listing(cubin.image)


def opcodes(cubin: Cubin, entry: str) -> Counter[str]:
    """Count the instructions of an entry by opcode with modifiers, such as `LDG.E.128`.

    Device functions that were not inlined count towards the entry that calls them.
    Raises what `disassemble` raises.
    """
    wanted = cubin.symbol(entry)
    counts: Counter[str] = Counter()
    section = ""
    for line in disassemble(cubin).splitlines():
        if header := _SECTION.match(line):
            section = header[1]
        elif section == wanted and (instruction := _INSTRUCTION.match(line)):
            counts[instruction[1]] += 1
    return counts


def missing_claims(counts: Mapping[str, int], claims: Iterable[str]) -> list[str]:
    """Return the claimed instructions that do not occur, in the order claimed.

    A claim names an operation and some of its modifiers: `LDGSTS.128` holds where
    `LDGSTS.E.BYPASS.LTC128B.128` occurs.
    """
    return [claim for claim in claims if not any(_is_met(claim, opcode) for opcode in counts)]


def _is_met(claim: str, opcode: str) -> bool:
    operation, *modifiers = opcode.split(".")
    wanted_operation, *wanted_modifiers = claim.split(".")
    return operation == wanted_operation and set(wanted_modifiers) <= set(modifiers)


@functools.lru_cache(maxsize=8)
def _listing(image: bytes) -> str:
    tool = find_tool("nvdisasm")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(image)
        ran = subprocess.run([tool, "-c", path], capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise KernelCompileError(f"{tool} refused the cubin: {ran.stderr.strip()}")
    return ran.stdout
