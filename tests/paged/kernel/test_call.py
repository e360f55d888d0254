"""Calls of specified kernels: outputs, mutation, several launches, variables, and refusals."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from paged.errors import KernelCompileError, KernelRunError, OperandError
from paged.kernel import InterpretConfig, KernelSpec, Launch, Operand, Scalar, kernel_call

MOMENTS = KernelSpec(
    name="moments",
    source="""
__constant__ float weights[4];
template <class T>
__global__ void sums(const T* x, float* total, float* squares, float* parts, int n) {
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += float(x[blockIdx.x * n + i]);
  parts[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
__global__ void finish(const void*, float* total, float* squares, float* parts, int n) {
  float sum = 0;
  for (int i = 0; i < 32; ++i) sum += parts[blockIdx.x * 32 + i];
  total[blockIdx.x] = sum * weights[blockIdx.x % 4];
  squares[blockIdx.x] = sum * sum;
}
""",
    launches=(
        Launch(entry="sums<{t}>", grid="rows", block=32),
        Launch(entry="finish", grid="rows", block=1),
    ),
    operands=(
        Operand(name="x", shape="rows n", dtype="t"),
        Operand(name="weights", shape="4", dtype="float32", is_variable=True),
        Operand(name="total", shape="rows", dtype="float32", intent="out"),
        Operand(name="squares", shape="rows", dtype="float32", intent="out"),
        Operand(name="parts", shape="rows 32", dtype="float32", intent="workspace"),
    ),
    types={"t": ("float32", "float16", "int32")},
    parameters=("x", "total", "squares", "parts", "n"),
)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int32])
def test_launches_share_workspaces_and_variables_are_set(dtype: torch.dtype) -> None:
    x = torch.arange(5 * 70).reshape(5, 70).remainder(7).to(dtype)
    weights = torch.tensor([1.0, 2.0, 3.0, 4.0])
    result = kernel_call(MOMENTS, x, weights, interpret=True)
    assert isinstance(result, tuple)
    total, squares = result
    sums = x.float().sum(dim=1)
    assert torch.equal(total, sums * weights[[0, 1, 2, 3, 0]])
    assert torch.equal(squares, sums**2)
    again = kernel_call(MOMENTS, x, weights * 2, interpret=True)
    assert isinstance(again, tuple)
    assert torch.equal(again[0], 2 * total)


def test_empty_grids_run_nothing() -> None:
    result = kernel_call(MOMENTS, torch.zeros(0, 3), torch.zeros(4), interpret=True)
    assert isinstance(result, tuple)
    assert [t.shape for t in result] == [(0,), (0,)]


INCREMENT = KernelSpec(
    name="increment",
    source="""
extern "C" __global__ void increment(int* x, int n, int step) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (step == 13 && i == n - 1) __trap();
  if (i < n) x[i] += step;
}
""",
    launches=(Launch(entry="increment", grid="cdiv(n, 32)", block=32),),
    operands=(Operand(name="x", shape="n", dtype="int32", intent="inout"),),
    scalars=(Scalar(name="step", dtype="int32"),),
    parameters=("x", "n", "step"),
)


def test_inout_is_mutated_and_nothing_returned() -> None:
    x = torch.arange(50, dtype=torch.int32)
    assert kernel_call(INCREMENT, x, interpret=InterpretConfig(seed=1), step=5) is None
    assert torch.equal(x, torch.arange(5, 55, dtype=torch.int32))


def test_a_failed_kernel_leaves_the_operands() -> None:
    x = torch.arange(50, dtype=torch.int32)
    with pytest.raises(KernelRunError, match=r"increment"):
        kernel_call(INCREMENT, x, interpret=True, step=13)
    assert torch.equal(x, torch.arange(50, dtype=torch.int32))


def test_refused_operands_compile_nothing() -> None:
    broken = replace(INCREMENT, source="this is no CUDA")
    with pytest.raises(OperandError, match="'x' must be int32"):
        kernel_call(broken, torch.zeros(3), interpret=True, step=1)
    with pytest.raises(KernelCompileError, match="increment"):
        kernel_call(broken, torch.zeros(3, dtype=torch.int32), interpret=True, step=1)


def test_cpu_tensors_need_the_interpreter() -> None:
    with pytest.raises(OperandError, match="got cpu; pass interpret=True"):
        kernel_call(INCREMENT, torch.zeros(3, dtype=torch.int32), step=1)
