"""The host library: `kernels_cu/host/*.cpp`, compiled once for each instruction set."""

from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from pathlib import Path

from paged.cache_dir import cache_dir
from paged.errors import KernelCompileError
from paged.kernel.backends.checked_file import is_whole, write_checked
from paged.kernel.backends.host_compiler import HostCompiler, find_compiler
from paged.kernel.backends.host_level import HostLevel
from paged.kernel.backends.host_records import RECORDS_HEADER, records_text

HOST_DIR = Path(__file__).resolve().parents[3] / "kernels_cu" / "host"

FLAGS = (
    *("-std=c++17", "-O3", "-fPIC", "-pthread", "-w"),
    *("-fvisibility=hidden", "-fvisibility-inlines-hidden", "-fno-exceptions"),
    # Each operation rounds; what is fused says so. Nobody reads errno or floating-point flags.
    *("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fno-strict-aliasing"),
)


@lru_cache(maxsize=8)
def load_host_library(level: HostLevel) -> ctypes.CDLL:
    """Return the library of a level, compiled where it is new, loaded once a process.

    Raises: BackendUnavailable where it is new and there is no compiler; KernelCompileError.
    """
    return ctypes.CDLL(str(build_host_library(level)))


def build_host_library(level: HostLevel) -> Path:
    """Return the file of a level's library, compiled where it is new; any CPU can compile it.

    Raises: as `load_host_library`.
    """
    texts = {path.name: path.read_text() for path in sorted(HOST_DIR.iterdir())}
    texts[RECORDS_HEADER] = records_text()
    key = _key(*FLAGS, *level.flags, *(part for item in texts.items() for part in item))
    path = cache_dir("host") / f"libpaged_host_{level.name}_{key}.so"
    if not is_whole(path):
        write_checked(path, _compile(find_compiler(), level, texts))
    return path


def _compile(compiler: HostCompiler, level: HostLevel, texts: dict[str, str]) -> bytes:
    """Compile every file at once, then link."""
    with tempfile.TemporaryDirectory(prefix="paged-") as name:
        folder = Path(name)
        for file, text in texts.items():
            (folder / file).write_text(text)
        sources = [file for file in texts if file.endswith(".cpp")]
        start = (*compiler.command, *FLAGS, *level.flags)
        commands = [(*start, "-c", source, "-o", f"{source}.o") for source in sources]
        with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as workers:
            list(workers.map(partial(_run, folder=folder), commands))
        _run((*start, "-shared", *(f"{s}.o" for s in sources), "-o", "host.so"), folder)
        return (folder / "host.so").read_bytes()


def _run(command: tuple[str, ...], folder: Path) -> None:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode != 0:
        raise KernelCompileError(f"{command[0]} cannot compile the host backend:\n{done.stderr}")


def _key(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]
