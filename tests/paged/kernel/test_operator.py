"""Operators pass torch's own checks, trace, and compile without copies of the pool."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend

from paged.errors import KernelSourceError, OperandError
from paged.kernel import InterpretConfig, KernelSpec, Launch, Operand, Scalar, kernel_op, op_call
from paged.kernel.ops.problems import problems_of
from paged.kernel.problem import Problem
from paged.kernel.registry import OP_NAMES, ops

AXPY = KernelSpec(
    name="axpy",
    source="""
extern "C" __global__ void axpy(const float* x, float* y, float* sums, int n, float factor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] += factor * x[i];
  sums[i] = x[i] + y[i];
}
""",
    launches=(Launch(entry="axpy", grid="cdiv(n, 64)", block=64),),
    operands=(
        Operand(name="x", shape="n", dtype="float32"),
        Operand(name="y", shape="n", dtype="float32", intent="inout"),
        Operand(name="sums", shape="n", dtype="float32", intent="out"),
    ),
    scalars=(Scalar(name="factor", dtype="float32", default=2.0),),
    parameters=("x", "y", "sums", "n", "factor"),
)


def overload(name: str) -> Any:
    return getattr(torch.ops.paged, name).default


def problems(name: str) -> list[Problem]:
    """Return problems that opcheck can take: it clones neither empty strided tensors nor fp8."""

    def is_taken(tensor: torch.Tensor | None) -> bool:
        if tensor is None or tensor.dim() == 1:
            return True
        return tensor.numel() > 0 and tensor.element_size() > 1

    found = [p for p in problems_of(ops()[name]) if all(map(is_taken, p.operands[:4]))]
    return found[:3]


@pytest.mark.parametrize("name", OP_NAMES)
def test_opcheck(name: str) -> None:
    for problem in problems(name):
        torch.library.opcheck(overload(name), problem.operands, dict(problem.numbers))


@pytest.mark.parametrize("name", OP_NAMES)
def test_direct_call_equals_the_operator(name: str) -> None:
    problem = problems(name)[0]

    def copies() -> list[torch.Tensor | None]:
        return [None if t is None else t.clone() for t in problem.operands]

    direct, dispatched = copies(), copies()
    a = op_call(name, *direct, **problem.numbers)
    b = overload(name)(*dispatched, **problem.numbers)
    pairs = zip([a, *direct], [b, *dispatched], strict=True)
    torch.testing.assert_close(*zip(*pairs, strict=True), rtol=0, atol=0, equal_nan=True)


def test_gradients_are_refused() -> None:
    problem = problems("write_kv")[0]
    key, *rest = problem.operands
    assert key is not None
    with pytest.raises(OperandError, match="'key' requires grad"):
        overload("write_kv")(key.clone().requires_grad_(), *rest, **problem.numbers)


@pytest.mark.parametrize("kind", ["to_sparse", "to_mkldnn"])
def test_other_kinds_of_tensors_are_refused_in_our_words(kind: str) -> None:
    key, *rest = problems("write_kv")[0].operands
    assert key is not None
    with pytest.raises(OperandError, match="'key' must be a dense tensor"):
        overload("write_kv")(getattr(key.float(), kind)(), *rest, layer=0)


@pytest.fixture
def library() -> Iterator[torch.library.Library]:
    with torch.library._scoped_library("paged_test", "FRAGMENT") as scoped:
        yield scoped


def test_a_kernel_of_ones_own(library: torch.library.Library) -> None:
    axpy: Any = kernel_op(AXPY, library, interpret=InterpretConfig(seed=3))
    assert str(vars(axpy)["_schema"]) == (
        "paged_test::axpy(Tensor x, Tensor(a1!) y, *, float factor=2.) -> Tensor"
    )
    x, y = torch.arange(100.0), torch.ones(100)
    sums = axpy(x, y)
    assert torch.equal(y, 1 + 2 * x)
    assert torch.equal(sums, 1 + 3 * x)
    torch.library.opcheck(axpy, (x, y), {"factor": 0.5})


def test_a_name_is_taken_once(library: torch.library.Library) -> None:
    kernel_op(AXPY, library)
    with pytest.raises(KernelSourceError, match="cannot define paged_test::axpy"):
        kernel_op(AXPY, library)


# torch's own imports warn
@pytest.mark.filterwarnings("ignore:.torch.jit.script_method. is deprecated:DeprecationWarning")
def test_compiles_without_copies_of_the_pool() -> None:
    """A step that writes and then attends allocates nothing of the pool's size.

    A view of the pool, or an operator that does not say it mutates, costs a copy a step.
    """
    num_blocks, block_size, head_dim = 2000, 16, 64
    pool = torch.zeros(num_blocks, 1, 2, 1, block_size, head_dim)
    pool_bytes = pool.numel() * pool.element_size()

    def step(query: torch.Tensor, pool: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
        torch.ops.paged.write_kv(query, query, pool, slots, layer=0)
        return torch.ops.paged.attention(
            query, pool, tables, lengths, starts, layer=0, max_query_len=1, scale=0.1
        )[0]

    tables = torch.zeros((2, 3), dtype=torch.int32)
    lengths = torch.tensor([5, 6], dtype=torch.int32)
    starts = torch.tensor([0, 1, 2], dtype=torch.int32)
    query, slots = torch.randn(2, 1, head_dim), torch.tensor([4, 5])
    expected = step(query, pool.clone(), slots)
    compiled = torch.compile(step, backend="inductor", fullgraph=True)
    with torch.inference_mode():
        torch.testing.assert_close(compiled(query, pool, slots), expected)
        with torch.profiler.profile(profile_memory=True) as profile:
            compiled(query, pool, slots)
    largest_bytes = max(event.cpu_memory_usage for event in profile.events() or ())
    assert largest_bytes < pool_bytes / 4
    assert pool[0, 0, :, 0, 4:6].abs().sum() > 0


# torch's own imports warn
@pytest.mark.filterwarnings("ignore:.torch.jit.script_method. is deprecated:DeprecationWarning")
def test_compiles_for_sizes_that_are_not_known() -> None:
    def step(query: torch.Tensor, pool: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        num_seqs = query.shape[0]
        tables = torch.zeros((num_seqs, 3), dtype=torch.int32)
        starts = torch.arange(num_seqs + 1, dtype=torch.int32)
        return torch.ops.paged.attention(
            query, pool, tables, lengths, starts, layer=0, max_query_len=1, scale=0.1
        )[0]

    compiled = torch.compile(step, backend="aot_eager", fullgraph=True, dynamic=True)
    pool = torch.randn(4, 1, 2, 1, 16, 8)
    for num_seqs in (2, 3, 5):
        query = torch.randn(num_seqs, 1, 8)
        lengths = torch.full((num_seqs,), 5, dtype=torch.int32)
        torch.testing.assert_close(compiled(query, pool, lengths), step(query, pool, lengths))


# torch's own imports warn
@pytest.mark.filterwarnings("ignore:.torch.jit.script_method. is deprecated:DeprecationWarning")
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_one_graph_serves_all_sizes(backend: str) -> None:
    def step(
        query: torch.Tensor, pool: torch.Tensor, tables: torch.Tensor, starts: torch.Tensor
    ) -> torch.Tensor:
        slots, lengths = torch.arange(query.shape[0]), starts.diff()
        torch.ops.paged.write_kv(query, query, pool, slots, layer=0)
        return torch.ops.paged.attention(
            query, pool, tables, lengths, starts, layer=0, max_query_len=2, scale=0.1
        )[0]

    graphs = CompileCounterWithBackend(backend)
    compiled = torch.compile(step, backend=graphs, fullgraph=True)
    pool = torch.randn(4, 1, 2, 1, 16, 8)
    for num_seqs in (2, 4, 5, 6, 9):
        query = torch.randn(2 * num_seqs, 1, 8)
        tables = torch.zeros((num_seqs, 3), dtype=torch.int32)
        starts = 2 * torch.arange(num_seqs + 1, dtype=torch.int32)
        for tensor in (query, tables, starts):
            torch._dynamo.mark_dynamic(tensor, 0)
        expected = step(query, pool.clone(), tables, starts)
        torch.testing.assert_close(compiled(query, pool, tables, starts), expected)
    assert graphs.frame_count == 1


def test_an_unknown_operation_is_named() -> None:
    with pytest.raises(KernelSourceError, match=r"expected an op of attention, .* got 'attend'"):
        op_call("attend", torch.zeros(1))


def test_what_is_no_tensor_is_named() -> None:
    with pytest.raises(OperandError, match=r"'key' must be a torch\.Tensor, got builtins\.list"):
        op_call("write_kv", cast("Any", [1.0]), *problems("write_kv")[0].operands[1:], layer=0)
