"""The copy engine on a stand-in for the driver, which copies host memory at once."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from paged.errors import KernelRunError
from paged.kernel.copy_engine import STREAM_ORDER, Attributes, CopyEngine, Runs

STREAM = 7
CUDA_INVALID_VALUE = 1


class OldDriver:
    """Knows single copies only."""

    def __init__(self, *, status: int = 0) -> None:
        self.status = status
        self.calls: list[tuple[str, int]] = []

    def cuMemcpyAsync(self, to: Any, start: Any, num_bytes: Any, stream: Any) -> int:
        self.calls.append(("single", stream.value or 0))
        if self.status == 0:
            ctypes.memmove(to, start, num_bytes.value)
        return self.status


class NewDriver(OldDriver):
    """Knows batches as well, by the prototype of `cuMemcpyBatchAsync` in CUDA 12.8."""

    def cuMemcpyBatchAsync(self, *arguments: Any) -> int:
        to, start, sizes, count, attributes, first, num_attributes, failed, stream = arguments
        self.calls.append(("batch", stream.value or 0))
        assert attributes._obj.source_access_order == STREAM_ORDER
        assert first._obj.value == 0
        assert num_attributes.value == 1
        if self.status:
            failed._obj.value = 1
            return self.status
        pointers = ctypes.POINTER(ctypes.c_uint64)
        rows = [ctypes.cast(array, pointers) for array in (to, start, sizes)]
        for i in range(count.value):
            ctypes.memmove(*(row[i] for row in rows))
        return 0


def make_runs() -> tuple[Runs, np.ndarray, np.ndarray]:
    start = np.arange(100, dtype=np.uint8)
    to = np.zeros(100, dtype=np.uint8)
    offsets = np.array([[0, 50], [20, 3], [90, 80]], dtype=np.uint64)
    runs = Runs(
        sources=offsets[:, 0] + np.uint64(start.ctypes.data),
        destinations=offsets[:, 1] + np.uint64(to.ctypes.data),
        sizes_bytes=np.array([10, 5, 1], dtype=np.uint64),
    )
    expected = np.zeros(100, dtype=np.uint8)
    expected[50:60], expected[3:8], expected[80] = start[0:10], start[20:25], start[90]
    return runs, to, expected


@pytest.mark.parametrize(
    ("driver", "stream", "calls"),
    [
        (NewDriver(), STREAM, [("batch", STREAM)]),
        (NewDriver(), 0, [("single", 0)] * 3),
        (OldDriver(), STREAM, [("single", STREAM)] * 3),
    ],
)
def test_all_runs_are_copied(driver: OldDriver, stream: int, calls: list[tuple[str, int]]) -> None:
    runs, to, expected = make_runs()
    CopyEngine(driver).copy(runs, stream)
    assert np.array_equal(to, expected)
    assert driver.calls == calls


def test_a_refusal_names_the_call() -> None:
    runs, _, _ = make_runs()
    with pytest.raises(KernelRunError, match=r"cuMemcpyBatchAsync failed .* 1 on copy 1 of 3"):
        CopyEngine(NewDriver(status=CUDA_INVALID_VALUE)).copy(runs, STREAM)
    with pytest.raises(KernelRunError, match="cuMemcpyAsync failed with CUDA error 1 on 10 bytes"):
        CopyEngine(OldDriver(status=CUDA_INVALID_VALUE)).copy(runs, STREAM)


def test_the_attributes_lie_as_in_the_driver() -> None:
    # CUmemcpyAttributes of cuda.h: an enum, two locations of an enum and an int, flags
    offsets = [getattr(Attributes, name[0]).offset for name in Attributes._fields_]
    assert offsets == [0, 4, 12, 20]
    assert ctypes.sizeof(Attributes) == 24
