"""Sources for tests of the compiler, and a mark for tests that need it."""

from __future__ import annotations

import pytest

from paged.errors import BackendUnavailable
from paged.kernel.source import KernelSource
from paged.kernel.toolkit import find_tool, find_toolkit


def _missing(tool: str | None) -> str:
    """Return why NVRTC or a tool cannot be used here, or an empty text."""
    try:
        find_toolkit()
        if tool is not None:
            find_tool(tool)
    except BackendUnavailable as error:
        return str(error)
    return ""


needs_nvrtc = pytest.mark.skipif(_missing(None) != "", reason=_missing(None))
needs_nvdisasm = pytest.mark.skipif(_missing("nvdisasm") != "", reason=_missing("nvdisasm"))

COPY = """
__global__ void copy_float4(const float4* source, float4* target) {
  target[threadIdx.x] = source[threadIdx.x];
}
"""

SCALE = """
__device__ int num_launches;
__constant__ float factors[4];
namespace sums { __device__ double total; }

template <class T, int num_threads>
__global__ void scale(T* values, float extra) {
  __shared__ T tile[num_threads];
  tile[threadIdx.x] = values[threadIdx.x] * factors[threadIdx.x % 4];
  __syncthreads();
  values[threadIdx.x] = tile[num_threads - 1 - threadIdx.x] + extra;
  if (threadIdx.x == 0) {
    num_launches += 1;
    sums::total += extra;
  }
}
"""


def copy_source() -> KernelSource:
    """Return a kernel that moves 16 bytes a thread and takes no shared memory."""
    return KernelSource(name="copy", text=COPY, entries=("copy_float4",))


def scale_source() -> KernelSource:
    """Return a template with variables and 256 or 512 bytes of static shared memory."""
    entries = ("scale<float, 64>", "scale<float, 128>")
    return KernelSource(name="scale", text=SCALE, entries=entries)
