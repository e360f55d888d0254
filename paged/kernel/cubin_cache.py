"""Keep compiled cubins by everything that decides their contents."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from paged.cache_dir import cache_dir, cache_key, write_atomically
from paged.kernel import nvrtc
from paged.kernel.nvrtc import Cubin
from paged.kernel.source import KernelSource
from paged.kernel.toolkit import find_toolkit


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A cubin and the file that holds its image."""

    path: Path
    cubin: Cubin


def keep(source: KernelSource, arch: str) -> Kept:
    """Compile a source for an architecture, or find it compiled.

    Safe between processes. An entry that is damaged or half written is compiled again.
    Raises what `compile_cubin` raises; refusals are not kept.
    """
    path = cache_dir("cuda") / f"{key(source, arch)}.cubin"
    found = _read(path)
    if found is None:
        found = nvrtc.compile_cubin(source, arch)
        _write(path, found)
    return Kept(path=path, cubin=found)


def cubin(source: KernelSource, arch: str) -> Cubin:
    """Return a source compiled for an architecture, as `keep` does."""
    return keep(source, arch).cubin


def key(source: KernelSource, arch: str) -> str:
    """Return the hash of a source, its headers and macros, the compiler and its options."""
    toolkit = find_toolkit()
    parts = [
        source.content_hash,
        *nvrtc.options(source, arch, toolkit),
        f"{toolkit.library}:{toolkit.library.stat().st_size}",
        *(shim.name + shim.read_text() for shim in sorted(nvrtc.SHIM_DIR.iterdir())),
    ]
    return cache_key(*parts)


def _read(path: Path) -> Cubin | None:
    """Return the cubin at a path with the description beside it, or None where not whole."""
    try:
        image = path.read_bytes()
        described = json.loads(path.with_suffix(".json").read_text())
        symbols = tuple((str(entry), str(symbol)) for entry, symbol in described["symbols"])
        kept = Cubin(arch=described["arch"], image=image, symbols=symbols, log=described["log"])
        is_whole = described["sha256"] == hashlib.sha256(image).hexdigest()
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return kept if is_whole else None


def _write(path: Path, fresh: Cubin) -> None:
    description = {
        "arch": fresh.arch,
        "symbols": fresh.symbols,
        "log": fresh.log,
        "sha256": hashlib.sha256(fresh.image).hexdigest(),
    }
    write_atomically(path, fresh.image)
    write_atomically(path.with_suffix(".json"), json.dumps(description).encode())
