"""Find NVRTC with the headers of its own version, and the disassemblers."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from paged.errors import BackendUnavailable

Version = tuple[int, int]

_HEADER_VERSION = re.compile(r"^#define\s+CUDART_VERSION\s+(\d+)", re.MULTILINE)
_INSTALL = "pip install 'paged[cuda12]' (or 'paged[cuda13]'), or set CUDA_HOME to a CUDA toolkit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolkit:
    """An NVRTC library and the headers it can compile.

    Attributes:
        include_dirs: the CUDA headers, then libcu++ (`<cuda/std/...>`) where one was found.

    """

    library: Path
    include_dirs: tuple[Path, ...]
    version: Version


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a toolkit may be: a folder of libraries and one of headers."""

    name: str
    library_dir: Path
    include_dir: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one place holds: a usable toolkit, or the reason why there is none."""

    place: Place
    found: Toolkit | str


def places() -> Iterator[Place]:
    """List where toolkits may be, best first.

    Wheels of CUDA 12 come before those of 13, since cubins of 12 also run on newer drivers.
    """
    for root in _package_dirs("nvidia"):
        yield Place(
            name="CUDA 12 wheels",
            library_dir=root / "cuda_nvrtc" / "lib",
            include_dir=root / "cuda_runtime" / "include",
        )
        yield Place(
            name="CUDA 13 wheels",
            library_dir=root / "cu13" / "lib",
            include_dir=root / "cu13" / "include",
        )
    for name, root in _system_roots():
        yield Place(name=name, library_dir=root / "lib64", include_dir=root / "include")


def examine(place: Place) -> Finding:
    """Say whether a place holds a usable toolkit."""
    library = next(iter(sorted(place.library_dir.glob("libnvrtc.so*"))), None)
    if library is None:
        return Finding(place=place, found=f"no libnvrtc.so in {place.library_dir}")
    header = place.include_dir / "cuda_runtime_api.h"
    stated = _HEADER_VERSION.search(header.read_text()) if header.is_file() else None
    if stated is None:
        return Finding(place=place, found=f"no CUDA headers in {place.include_dir}")
    version = _library_version(library)
    if isinstance(version, str):
        return Finding(place=place, found=version)
    headers = (int(stated[1]) // 1000, int(stated[1]) % 1000 // 10)
    if headers != version:
        reason = f"NVRTC {show(version)} beside headers of CUDA {show(headers)}: must be equal"
        return Finding(place=place, found=reason)
    folders = (place.include_dir, *_libcudacxx(place.include_dir))
    return Finding(
        place=place, found=Toolkit(library=library, include_dirs=folders, version=version)
    )


@functools.cache
def find_toolkit() -> Toolkit:
    """Return the first usable toolkit of this machine.

    Raises BackendUnavailable with the reason at every place.
    """
    findings = [examine(place) for place in places()]
    for finding in findings:
        if isinstance(finding.found, Toolkit):
            return finding.found
    reasons = "".join(f"\n  {finding.place.name}: {finding.found}" for finding in findings)
    raise BackendUnavailable(f"no usable NVRTC; {_INSTALL}. Looked at:{reasons}")


@functools.cache
def find_tool(name: str) -> Path:
    """Return an executable of the toolkit, such as `nvdisasm`.

    Raises BackendUnavailable where it is neither in a wheel nor in a toolkit nor on the path.
    """
    folders = [root / "cu13" / "bin" for root in _package_dirs("nvidia")]
    folders += [root / "backends" / "nvidia" / "bin" for root in _package_dirs("triton")]
    folders += [root / "bin" for _, root in _system_roots()]
    folders += [Path(folder) for folder in os.get_exec_path()]
    found = shutil.which(name, path=os.pathsep.join(map(str, folders)))
    if found is None:
        raise BackendUnavailable(
            f"no {name} in the installed wheels, in CUDA_HOME or on PATH; "
            f"pip install nvidia-cuda-{name}"
        )
    return Path(found)


def show(version: Version) -> str:
    """Write a version as people do: 12.9."""
    return f"{version[0]}.{version[1]}"


def _package_dirs(package: str) -> list[Path]:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.submodule_search_locations is None:
        return []
    return [Path(folder) for folder in spec.submodule_search_locations]


def _system_roots() -> Iterator[tuple[str, Path]]:
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if chosen := os.environ.get(variable):
            yield f"${variable}", Path(chosen)
    yield "system toolkit", Path("/usr/local/cuda")


def _library_version(library: Path) -> Version | str:
    major, minor = ctypes.c_int(), ctypes.c_int()
    try:
        status = ctypes.CDLL(str(library)).nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    except (OSError, AttributeError) as error:
        return f"{library} cannot be loaded: {error}"
    return (major.value, minor.value) if status == 0 else f"{library} does not state its version"


def _libcudacxx(include_dir: Path) -> list[Path]:
    """Return the folders of libcu++: the toolkit's own, or those that CuPy carries."""
    bundled = [root / "_core" / "include" / "cupy" / "_cccl" for root in _package_dirs("cupy")]
    for folder in (include_dir, include_dir / "cccl", *(root / "libcudacxx" for root in bundled)):
        if (folder / "nv" / "target").is_file():
            return [folder]
    return []
