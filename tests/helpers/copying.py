"""The simplest kernel that writes where it is told: `y = x`, for tests of its operands."""

from __future__ import annotations

from paged.kernel.spec import KernelSpec, Launch, Operand

SOURCE = """
__global__ void copy(const float* x, float* y, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i];
}
"""


def copy_spec() -> KernelSpec:
    """Return the kernel; `y` is given, and written in place."""
    return KernelSpec(
        name="copy",
        source=SOURCE,
        launches=(Launch(entry="copy", grid=1, block=32),),
        operands=(
            Operand(name="x", shape="n", dtype="float32"),
            Operand(name="y", shape="n", dtype="float32", intent="inout"),
        ),
        parameters=("x", "y", "n"),
    )
