"""Copies by the GPU's copy engines: many runs of bytes in one call of the driver."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from paged.errors import BackendUnavailable, KernelRunError

_DEFAULT_STREAM = 0
_SUCCESS = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Runs:
    """Copies of contiguous bytes, independent of each other.

    Attributes:
        sources, destinations: addresses. sizes_bytes: length of each copy. All uint64.

    """

    sources: npt.NDArray[np.uint64]
    destinations: npt.NDArray[np.uint64]
    sizes_bytes: npt.NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.sizes_bytes)


class _Location(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class Attributes(ctypes.Structure):
    """How a batch reads its sources: `CUmemcpyAttributes`."""

    _fields_ = (
        ("source_access_order", ctypes.c_int),
        ("source_hint", _Location),
        ("destination_hint", _Location),
        ("flags", ctypes.c_uint),
    )


STREAM_ORDER = 1
"""Sources are read when the stream comes to the copy, not when the host asks for it.

With the driver's "any order" a copy to the host may read KV rows before they are computed.
Source: vllm-project/vllm#39306.
"""


class CopyEngine:
    """The driver's asynchronous copies.

    The memory must stay alive until the stream is past the copies.
    """

    def __init__(self, driver: Any) -> None:
        """Take the driver's library, as `ctypes.CDLL` loads it."""
        self._driver = driver
        self._has_batches = hasattr(driver, "cuMemcpyBatchAsync")

    def copy(self, runs: Runs, stream: int) -> None:
        """Enqueue copies on a stream of the current device.

        One call for all of them where the driver (12.8 or newer) and the stream allow that: the
        default stream takes no batches.

        Raises: KernelRunError where the driver refuses.
        """
        if len(runs) > 1 and stream != _DEFAULT_STREAM and self._has_batches:
            self._copy_batch(runs, stream)
            return
        for source, destination, size in zip(
            runs.sources.tolist(),
            runs.destinations.tolist(),
            runs.sizes_bytes.tolist(),
            strict=True,
        ):
            status = self._driver.cuMemcpyAsync(
                ctypes.c_void_p(destination),
                ctypes.c_void_p(source),
                ctypes.c_size_t(size),
                ctypes.c_void_p(stream),
            )
            self._check(status, "cuMemcpyAsync", f"{size} bytes from {source:#x}")

    def _copy_batch(self, runs: Runs, stream: int) -> None:
        attributes = Attributes(source_access_order=STREAM_ORDER)
        first = ctypes.c_size_t(0)
        failed = ctypes.c_size_t(0)
        status = self._driver.cuMemcpyBatchAsync(
            _address(runs.destinations),
            _address(runs.sources),
            _address(runs.sizes_bytes),
            ctypes.c_size_t(len(runs)),
            ctypes.byref(attributes),
            ctypes.byref(first),
            ctypes.c_size_t(1),
            ctypes.byref(failed),
            ctypes.c_void_p(stream),
        )
        self._check(status, "cuMemcpyBatchAsync", f"copy {failed.value} of {len(runs)}")

    def _check(self, status: int, function: str, what: str) -> None:
        if status != _SUCCESS:
            raise KernelRunError(
                f"{function} failed with CUDA error {status} on {what}; expected device memory "
                f"and pinned host memory that are alive"
            )


@lru_cache(maxsize=1)
def copy_engine() -> CopyEngine:
    """Return the driver of this machine. Raises BackendUnavailable without one."""
    try:
        return CopyEngine(ctypes.CDLL("libcuda.so.1"))
    except OSError as error:
        raise BackendUnavailable(f"no CUDA driver: {error}") from error


def _address(array: npt.NDArray[np.uint64]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
