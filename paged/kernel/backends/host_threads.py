"""How many threads the host backend runs on when nobody says."""

from __future__ import annotations

import os
from functools import lru_cache
from math import ceil
from pathlib import Path

CPUS = Path("/sys/devices/system/cpu")
QUOTA = Path("/sys/fs/cgroup/cpu.max")


@lru_cache(maxsize=1)
def default_num_threads() -> int:
    """Return the physical cores this process may use: its affinity, within its cgroup's quota."""
    num_cores = num_physical_cores(os.sched_getaffinity(0), CPUS)
    quota = quota_cores(QUOTA)
    return num_cores if quota is None else max(1, min(num_cores, ceil(quota)))


def num_physical_cores(cpus: set[int], folder: Path) -> int:
    """Return how many cores logical CPUs lie on; each is one of its own where nothing says so."""
    cores: set[str] = set()
    for cpu in cpus:
        siblings = folder / f"cpu{cpu}" / "topology" / "thread_siblings_list"
        cores.add(siblings.read_text().strip() if siblings.is_file() else str(cpu))
    return len(cores)


def quota_cores(path: Path) -> float | None:
    """Return the share of CPU time that a cgroup grants, in cores; None where it sets no limit."""
    if not path.is_file():
        return None
    quota, _, period = path.read_text().strip().partition(" ")
    return None if quota == "max" else int(quota) / int(period)
