"""The host backend: native code for this CPU, on a thread pool of its own.

`PAGED_HOST_LEVEL` and `PAGED_HOST_THREADS` stand for what a configuration leaves out.
"""

from __future__ import annotations

import ctypes
import os
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from paged.errors import BackendUnavailable, ConfigError
from paged.field_checks import MAX_INT32, integer, set_field
from paged.kernel.backends.host_level import HostLevel, cpu_levels, find_level
from paged.kernel.backends.host_library import load_host_library
from paged.kernel.backends.host_threads import default_num_threads

LEVEL_VARIABLE = "PAGED_HOST_LEVEL"
THREADS_VARIABLE = "PAGED_HOST_THREADS"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostConfig:
    """How host kernels run. Results are the same for any number of threads.

    Attributes:
        num_threads: threads of one call; None for the physical cores this process may use.
        level: the instruction set, `avx512`, `avx2` or `baseline`; None for the best there is.

    """

    num_threads: int | None = None
    level: str | None = None

    def __post_init__(self) -> None:
        if self.num_threads is not None:
            set_field(self, "num_threads", integer("num_threads", self.num_threads, 1, MAX_INT32))
        if self.level is not None:
            find_level(self.level)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Host:
    """The library of a configuration, ready to be called.

    Attributes:
        library: its functions release the GIL.

    """

    library: ctypes.CDLL
    level: HostLevel
    num_threads: int

    def function(self, name: str, *parameters: Any, returns: Any = None) -> Any:
        """Return a function of the library, with the types of its parameters."""
        found = self.library[name]
        found.argtypes = parameters
        found.restype = returns
        return found


@lru_cache(maxsize=32)
def load_host(config: HostConfig) -> Host:
    """Return the backend of a configuration, compiled where it is new.

    Raises: BackendUnavailable where the CPU lacks the level, or the library is new and there is no
        compiler; KernelCompileError; ConfigError for what the environment's variables say.
    """
    level = _level(config.level or os.environ.get(LEVEL_VARIABLE))
    threads = config.num_threads or _threads(os.environ.get(THREADS_VARIABLE))
    return Host(library=load_host_library(level), level=level, num_threads=threads)


@lru_cache(maxsize=32)
def find_host(config: HostConfig) -> Host | None:
    """Return the backend of a configuration, None with one warning where it is unavailable.

    Raises: KernelCompileError, ConfigError.
    """
    try:
        return load_host(config)
    except BackendUnavailable as error:
        warnings.warn(
            f"the host backend is unavailable, and torch serves instead, more slowly: {error}",
            RuntimeWarning,
            stacklevel=2,
        )
        return None


def _level(name: str | None) -> HostLevel:
    levels = cpu_levels()
    if not levels:
        raise BackendUnavailable("the host backend needs an x86-64-v2 CPU and Linux")
    if name is None:
        return levels[0]
    level = find_level(name)
    if level not in levels:
        has = ", ".join(each.name for each in levels)
        raise BackendUnavailable(f"this CPU cannot run host level {name!r}; it can run {has}")
    return level


def _threads(text: str | None) -> int:
    if text is None:
        return default_num_threads()
    if not text.isdecimal() or int(text) < 1:
        raise ConfigError(f"{THREADS_VARIABLE} must be a number of at least 1, got {text!r}")
    return int(text)
