"""A lack of memory becomes an error of the configuration, and nothing else does."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from paged.engine.allocation import memory_of, probe_host
from paged.errors import ConfigError

# more than a process has addresses for
TOO_MANY_BYTES = 1 << 50


def test_what_numpy_cannot_allocate_is_named() -> None:
    says = r"^expected memory for rows, got: .* 1\.00 PiB .*less$"
    with pytest.raises(ConfigError, match=says), memory_of("rows"):
        np.empty(TOO_MANY_BYTES, np.uint8)


def test_what_torch_cannot_allocate_is_named() -> None:
    says = f"^expected memory for a pool, .* {TOO_MANY_BYTES} "
    with pytest.raises(ConfigError, match=says), memory_of("a pool"):
        probe_host(TOO_MANY_BYTES)


def test_what_a_gpu_cannot_allocate_is_named() -> None:
    says = r"got: Tried to allocate 20\.00 GiB; ask for less"
    with pytest.raises(ConfigError, match=says), memory_of("a pool"):
        raise torch.OutOfMemoryError("Tried to allocate 20.00 GiB")


def test_other_failures_stay_what_they_are() -> None:
    with pytest.raises(RuntimeError, match="sizes differ"), memory_of("a pool"):
        raise RuntimeError("sizes differ")
