"""Every build of the host library that this CPU can run, and numbers for it to compute with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch

from paged.kernel.backends import host
from paged.kernel.backends.host import HostConfig
from paged.kernel.backends.host_level import LEVELS, HostLevel, cpu_levels
from paged.kernel.choice import use_kernel

# The vectors of AVX-512 in pieces: all of its code but the instructions, on a CPU without them.
WIDE = HostLevel(
    name="wide",
    march=LEVELS["avx2"].march,
    num_lanes=LEVELS["avx512"].num_lanes,
    cpu_flags=LEVELS["avx2"].cpu_flags,
)

RUNNABLE = cpu_levels() + ((WIDE,) if LEVELS["avx2"] in cpu_levels() else ())

levels = pytest.mark.parametrize("level", RUNNABLE, ids=lambda level: level.name)


@contextmanager
def in_level(level: HostLevel, num_threads: int = 2) -> Iterator[None]:
    """Run host kernels, and pack weights for them, at a level."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(LEVELS, level.name, level)
        patch.setattr(host, "cpu_levels", lambda: RUNNABLE)
        with use_kernel(host=HostConfig(level=level.name, num_threads=num_threads)):
            yield


def randn(*shape: int, seed: int = 1) -> torch.Tensor:
    """Return normal numbers, the same for a seed."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
