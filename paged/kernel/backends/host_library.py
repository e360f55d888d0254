"""The host library: `kernels_cu/host/*.cpp`, compiled once for each instruction set."""

from __future__ import annotations

import ctypes
import logging
import os
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from pathlib import Path

from paged.cache_dir import cache_dir, cache_key
from paged.errors import KernelCompileError
from paged.kernel.backends.checked_file import keep
from paged.kernel.backends.host_compiler import HostCompiler, find_compiler
from paged.kernel.backends.host_level import HostLevel
from paged.kernel.backends.host_records import RECORDS_HEADER, records_text

_LOG = logging.getLogger(__name__)

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

    Raises: BackendUnavailable where it is new and there is no compiler, or no folder to run it in;
        KernelCompileError.
    """
    return ctypes.CDLL(str(build_host_library(level)))


def build_host_library(level: HostLevel) -> Path:
    """Return the file of a level's library, compiled where it is new; any CPU can compile it.

    Raises: as `load_host_library`.
    """
    texts = {path.name: path.read_text() for path in sorted(HOST_DIR.iterdir())}
    texts[RECORDS_HEADER] = records_text()
    key = cache_key(*FLAGS, *level.flags, *(part for item in texts.items() for part in item))
    path = cache_dir("host") / f"libpaged_host_{level.name}_{key}.so"
    return keep(path, partial(_compile, level, texts)).path


def _compile(level: HostLevel, texts: dict[str, str]) -> bytes:
    """Compile every file at once, then link.

    It takes a minute or two, and so a line of the log says that it happens: on standard error
    unless the program handles logs otherwise.
    """
    compiler = find_compiler()
    _LOG.warning(
        "compiling the native kernels for this CPU (%s), once: it may take a minute or two",
        level.name,
    )
    with compiler.scratch_folder() as folder:
        for file, text in texts.items():
            (folder / file).write_text(text)
        sources = [file for file in texts if file.endswith(".cpp")]
        start = (*FLAGS, *level.flags)
        calls = [(*start, "-c", source, "-o", f"{source}.o") for source in sources]
        with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as workers:
            list(workers.map(partial(_run, compiler, folder), calls))
        _run(compiler, folder, (*start, "-shared", *(f"{s}.o" for s in sources), "-o", "host.so"))
        return (folder / "host.so").read_bytes()


def _run(compiler: HostCompiler, folder: Path, arguments: tuple[str, ...]) -> None:
    done = compiler.run(arguments, folder)
    if done.returncode != 0:
        raise KernelCompileError(
            f"{' '.join(compiler.command)} cannot compile the host backend:\n{done.stderr}"
        )
