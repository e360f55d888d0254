"""Calls of specified kernels: outputs, mutation, several launches, variables, and refusals."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from paged.errors import KernelCompileError, KernelRunError, OperandError
from paged.kernel import InterpretConfig, KernelSpec, Launch, Operand, Scalar, call, kernel_call

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


@pytest.fixture
def num_bound(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that grows by a kernel's name whenever a call of it is bound anew."""
    names: list[str] = []
    bind = call.bind

    def counted(spec: KernelSpec, *rest: object) -> object:
        names.append(spec.name)
        return bind(spec, *rest)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(call, "bind", counted)
    return names


def test_a_call_like_an_earlier_one_is_not_bound_again(num_bound: list[str]) -> None:
    spec = replace(INCREMENT)
    x = torch.zeros(50, dtype=torch.int32)
    for step in (1, 2, 3):
        kernel_call(spec, x, interpret=True, step=step)
    assert x.tolist() == [6] * 50
    assert num_bound == ["increment"]
    y = torch.zeros(33, dtype=torch.int32)
    kernel_call(spec, y, interpret=True, step=4)
    assert y.tolist() == [4] * 33
    assert len(num_bound) == 2


def test_a_planned_call_is_refused_as_the_first_one() -> None:
    x = torch.zeros(5, dtype=torch.int32)
    messages: list[str] = []
    for _ in range(2):
        with pytest.raises(OperandError) as raised:
            kernel_call(INCREMENT, x, interpret=True, step=2**31)
        messages.append(str(raised.value))
        kernel_call(INCREMENT, x, interpret=True, step=1)
    assert messages == ["increment: number 'step' must be an int32, got 2147483648"] * 2
    assert x.tolist() == [2] * 5
    with pytest.raises(OperandError, match=r"got cpu; pass interpret=True"):
        kernel_call(INCREMENT, x, step=1)
    with pytest.raises(OperandError, match="unknown number 'stride'; it takes step"):
        kernel_call(INCREMENT, x, interpret=True, step=1, stride=2)


@pytest.mark.parametrize("is_header", [False, True])
def test_an_edit_takes_effect_at_the_next_call(tmp_path: Path, is_header: bool) -> None:
    file, header = tmp_path / "increment.cu", tmp_path / "step.cuh"
    header.write_text("constexpr int kScale = 1;\n")
    text = '#include "step.cuh"\n' + str(INCREMENT.source).replace("+= step", "+= kScale * step")
    file.write_text(text)
    spec = replace(INCREMENT, source=file)
    x = torch.zeros(5, dtype=torch.int32)
    kernel_call(spec, x, interpret=True, step=1)
    edited = header if is_header else file
    edited.write_text(
        edited.read_text()
        .replace("kScale = 1", "kScale = 20")
        .replace("kScale * ", "kScale * 2 * ")
    )
    time.sleep(2 * call.LOOK_INTERVAL_S)
    kernel_call(spec, x, interpret=True, step=1)
    assert x.tolist() == [21 if is_header else 3] * 5
    header.unlink()
    file.write_text(str(INCREMENT.source))
    time.sleep(2 * call.LOOK_INTERVAL_S)
    kernel_call(spec, x, interpret=True, step=5)
    assert x.tolist() == [26 if is_header else 8] * 5


def test_who_records_launches_learns_which_kernels_ran_and_when_they_changed(
    tmp_path: Path,
) -> None:
    file = tmp_path / "increment.cu"
    file.write_text(str(INCREMENT.source))
    spec = replace(INCREMENT, source=file)
    x = torch.zeros(5, dtype=torch.int32)
    with call.launched_kernels() as kernels:
        kernel_call(spec, x, interpret=True, step=1)
        kernel_call(spec, x, interpret=True, step=2)
    kernel_call(INCREMENT, x, interpret=True, step=1)
    (kernel,) = kernels
    assert kernel.spec is spec
    assert kernel.is_current
    file.write_text(file.read_text() + "\n")
    assert not kernel.is_current


def test_programs_are_built_once_for_types_and_constants() -> None:
    kernel = call.Kernel(MOMENTS, call.interpreter(InterpretConfig()))
    bound = [
        call.bind(MOMENTS, [torch.zeros(2, 3, dtype=dtype), torch.zeros(4)], {})
        for dtype in (torch.float32, torch.float16)
    ]
    first, second = map(kernel.program, bound)
    assert first is not second
    assert [kernel.program(binding) for binding in bound] == [first, second]


def test_threads_may_call_at_once() -> None:
    spec = replace(INCREMENT)

    def run(step: int) -> list[int]:
        x = torch.zeros(20 + step % 3, dtype=torch.int32)
        kernel_call(spec, x, interpret=InterpretConfig(isolate=False), step=100 * step)
        return x.tolist()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, range(60))) == [
            [100 * step] * (20 + step % 3) for step in range(60)
        ]


def test_variables_take_the_bytes_of_any_type() -> None:
    text = """
__constant__ unsigned short bits[4];
__global__ void f(int* y) { y[threadIdx.x] = bits[threadIdx.x]; }
"""
    spec = KernelSpec(
        name="f",
        source=text,
        launches=(Launch(entry="f", grid=1, block=4),),
        operands=(
            Operand(name="bits", shape="4", dtype="bfloat16", is_variable=True),
            Operand(name="y", shape="4", dtype="int32", intent="out"),
        ),
    )
    values = torch.tensor([1.0, -2.0, 0.5, 0.0], dtype=torch.bfloat16)
    y = kernel_call(spec, values, interpret=True)
    assert isinstance(y, torch.Tensor)
    assert y.tolist() == [0x3F80, 0xC000, 0x3F00, 0]


def test_refused_operands_compile_nothing() -> None:
    broken = replace(INCREMENT, source="this is no CUDA")
    with pytest.raises(OperandError, match="'x' must be int32"):
        kernel_call(broken, torch.zeros(3), interpret=True, step=1)
    with pytest.raises(KernelCompileError, match="increment"):
        kernel_call(broken, torch.zeros(3, dtype=torch.int32), interpret=True, step=1)


def test_cpu_tensors_need_the_interpreter() -> None:
    with pytest.raises(OperandError, match="got cpu; pass interpret=True"):
        kernel_call(INCREMENT, torch.zeros(3, dtype=torch.int32), step=1)


@pytest.mark.parametrize("interpret", [None, 1, "yes"])
def test_what_is_no_configuration_is_refused(interpret: Any) -> None:
    with pytest.raises(OperandError, match=r"must be True, False or an InterpretConfig, got .*"):
        kernel_call(INCREMENT, torch.zeros(3, dtype=torch.int32), interpret=interpret, step=1)
