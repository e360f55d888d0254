"""The C++ compiler that turns kernels into libraries for this CPU."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from paged.errors import BackendUnavailable

CPU_INFO = Path("/proc/cpuinfo")

LIMIT_S = 600.0
"""Some ten times what the largest kernel takes on a busy machine: templates can go on for ever."""
MEMORY_GIB = 8
"""Some ten times what the largest kernel takes: texts can grow as they are preprocessed."""
FILE_GIB = 1
_BOUNDS = (("v", MEMORY_GIB << 20), ("t", int(LIMIT_S)), ("f", FILE_GIB << 21))
BOUNDED = "".join(f"ulimit -{kind} {most}; " for kind, most in _BOUNDS) + 'exec "$@"'
MAX_ERRORS = 100

FLAGS = (
    *("-std=c++17", "-w", "-fPIC", "-march=native"),
    # careful: in version 5, addr2line 2.40 takes a #line with an absolute path for the file itself.
    *("-g1", "-gdwarf-4"),
    *("-fvisibility=hidden", "-fvisibility-inlines-hidden", "-fno-exceptions"),
    # As on a GPU: types pun, integers wrap, each operation rounds, loops may wait for others.
    *("-fno-strict-aliasing", "-fwrapv", "-ffp-contract=off", "-fno-delete-null-pointer-checks"),
    # As on a GPU: an access at an address that is no multiple of its alignment ends the kernel.
    *("-fsanitize=alignment", "-fsanitize-undefined-trap-on-error"),
    # Each page of a large frame is touched in order, so that an overflow meets the guard page.
    "-fstack-clash-protection",
    "-Wl,-z,now",
)
GCC_FLAGS = ("-fno-finite-loops", "-fno-gnu-unique")

GCC_STEP_FLAGS = ("-fsanitize-coverage=trace-pc",)
# Without pruning: a loop of one block would not count, since it dominates what follows.
CLANG_STEP_FLAGS = ("-fsanitize-coverage=trace-pc,no-prune",)

OBSERVED_FLAGS = (
    # A call at each access, to functions of the interpreter's own: the sanitizer's library, which
    # the compiler would link, has others of these names.
    *("-fsanitize=thread", "-nodefaultlibs"),
    # A vector is read and written whole, as by one instruction of a GPU, not by its members.
    "-fno-tree-sra",
    # Loops that wait for other threads read volatile memory: no race with an atomic.
    "--param=tsan-distinguish-volatile=1",
)
SANITIZED_FLAGS = (
    # What is called for a fault does not return: or else a check in a loop keeps reads there.
    *("-fsanitize=bounds", "-fno-sanitize-undefined-trap-on-error", "-fno-sanitize-recover"),
    # The calls that lead to a place are unwound where a fault is found.
    *("--param=tsan-instrument-func-entry-exit=0", "-fno-plt"),
)
FIRST_WITH_PATTERN = 12
PATTERN_FLAGS = ("-ftrivial-auto-var-init=pattern",)
OBSERVED_LIBRARIES = ("-lstdc++", "-lm", "-lgcc_s", "-lgcc", "-lc")


@dataclass(frozen=True, kw_only=True)
class HostCompiler:
    """One C++ compiler.

    Attributes:
        command: the program and leading arguments.
        version: first line of its own version text.

    """

    command: tuple[str, ...]
    version: str

    @property
    def is_clang(self) -> bool:
        """Whether it is clang++, else g++."""
        return "clang" in self.version

    @property
    def flags(self) -> tuple[str, ...]:
        """Flags of every library."""
        return FLAGS if self.is_clang else FLAGS + GCC_FLAGS

    @property
    def step_flags(self) -> tuple[str, ...]:
        """Flags with which every basic block calls the runtime."""
        return CLANG_STEP_FLAGS if self.is_clang else GCC_STEP_FLAGS

    @property
    def observed_flags(self) -> tuple[str, ...]:
        """Flags with which every access to memory calls the runtime, of g++ alone.

        From version 12 on, variables without an initial value hold a pattern, so that a result
        shows that one was used.
        """
        found = re.search(r"\) (\d+)\.", self.version)
        has_pattern = found is not None and int(found[1]) >= FIRST_WITH_PATTERN
        return OBSERVED_FLAGS + (PATTERN_FLAGS if has_pattern else ())

    @property
    def sanitized_flags(self) -> tuple[str, ...]:
        """The same, with a call where an index leaves its array, or an access its alignment."""
        return self.observed_flags + SANITIZED_FLAGS

    @cached_property
    def fingerprint(self) -> str:
        """What decides its output besides its input: version, flags and, by them, the CPU."""
        return "\n".join((self.version, *self.command[1:], *self.flags, cpu_fingerprint()))

    def compile(
        self, text: str, arguments: Sequence[str], headers: Mapping[str, str]
    ) -> tuple[bytes | None, str]:
        """Return the binary of a text and the compiler's messages; None where it refused.

        The headers are found, by these names, before any others. Raises BackendUnavailable where
        the compiler has gone or no temporary folder can be had.
        """
        with self.scratch_folder() as folder:
            for header, content in headers.items():
                (folder / header).parent.mkdir(parents=True, exist_ok=True)
                (folder / header).write_text(content)
            (folder / "kernel.cpp").write_text(text)
            # Equal texts give equal bytes, wherever they are compiled.
            few = f"-ferror-limit={MAX_ERRORS}" if self.is_clang else f"-fmax-errors={MAX_ERRORS}"
            flags = (*self.flags, few, f"-ffile-prefix-map={folder}=.")
            done = self.run((*flags, "kernel.cpp", *arguments, "-o", "kernel.so"), folder)
            library = (folder / "kernel.so").read_bytes() if done.returncode == 0 else None
            return library, done.stderr

    def preprocess(self, text: str, arguments: Sequence[str]) -> str | None:
        """Return a text after the preprocessor; None where it refused. Raises as `compile`."""
        with self.scratch_folder() as folder:
            (folder / "kernel.cpp").write_text(text)
            done = self.run(("-std=c++17", "-w", "-E", "kernel.cpp", *arguments), folder)
            return done.stdout if done.returncode == 0 else None

    @contextmanager
    def scratch_folder(self) -> Generator[Path]:
        """Yield a folder to run in, which goes at the end.

        Raises BackendUnavailable where none can be had, and for any OSError inside.
        """
        try:
            with tempfile.TemporaryDirectory(prefix="paged-") as name:
                yield Path(name)
        except OSError as error:
            raise BackendUnavailable(
                f"cannot run {' '.join(self.command)} in a temporary folder: {error}; "
                f"set TMPDIR to a writable folder with room"
            ) from error

    def run(
        self, arguments: Sequence[str], folder: Path, *, limit_s: float = LIMIT_S
    ) -> subprocess.CompletedProcess[str]:
        """Run the compiler in a folder, with its messages captured. Raises OSError without it.

        Past the limit it is ended, and has failed.
        """
        command = (*self.command, *arguments)
        # The limits hold for all that g++ starts, and whatever becomes of this process.
        bounded = ("sh", "-c", BOUNDED, "sh", *command)
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        # In a group of its own: what g++ has started has to end with it.
        with subprocess.Popen(
            bounded, cwd=folder, text=True, errors="replace", process_group=0, **pipes
        ) as process:
            try:
                output, messages = process.communicate(timeout=limit_s)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, _ = process.communicate()
                messages = f"{self.command[0]}: ended after {limit_s:g} s without a result\n"
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
        return subprocess.CompletedProcess(command, process.returncode, output, messages)


def find_compiler() -> HostCompiler:
    """Return the compiler to use: `$CXX`, else g++, else clang++.

    Raises BackendUnavailable where none is found, or on machines other than x86-64.
    """
    return _find(os.environ.get("CXX"), os.environ.get("PATH"))


@lru_cache(maxsize=8)
def _find(chosen: str | None, path: str | None) -> HostCompiler:
    if platform.machine() != "x86_64":
        raise BackendUnavailable(
            f"a kernel for the CPU runs on x86-64, got {platform.machine()}; use the cuda backend"
        )
    candidates = [chosen.split()] if chosen else [["g++"], ["clang++"]]
    for command in candidates:
        if command and shutil.which(command[0], path=path) is not None:
            shown = subprocess.run(
                [*command, "--version"], capture_output=True, text=True, check=False
            )
            if shown.returncode == 0:
                version = shown.stdout.partition("\n")[0]
                return HostCompiler(command=tuple(command), version=version)
    tried = ", ".join(" ".join(command) for command in candidates)
    raise BackendUnavailable(
        f"kernels on the CPU need a C++17 compiler, found none of: {tried}; install g++ or "
        f"clang++, or set CXX"
    )


@lru_cache(maxsize=1)
def cpu_fingerprint() -> str:
    """Return the model and the instruction sets of this CPU, which -march=native depends on."""
    if not CPU_INFO.is_file():
        return platform.processor()
    lines = re.findall(r"^(?:model name|flags)\s*:.*$", CPU_INFO.read_text(), re.MULTILINE)
    return hashlib.sha256("\n".join(sorted(set(lines))).encode()).hexdigest()
