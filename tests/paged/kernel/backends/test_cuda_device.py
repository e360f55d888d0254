"""Launches on a real GPU: parameters, streams, graphs, devices, shared memory, variables."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from paged.errors import KernelRunError
from paged.kernel.backends.cuda import CudaBackend, CudaProgram
from paged.kernel.launch import Argument, LaunchRequest, Pointer, one
from paged.kernel.source import KernelSource
from tests.helpers.cuda_sources import scale_source

pytestmark = pytest.mark.gpu

ADD = """
struct AddParams {
  const float* source;
  float* target;
  int num;
  float extra;
};

__global__ void add(const float* source, float* target, int num, float extra) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < num) target[i] = source[i] + extra;
}

__global__ void add_struct(const __grid_constant__ AddParams p) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < p.num) p.target[i] = p.source[i] + p.extra;
}

__global__ void reverse_in_shared(const float* source, float* target, int num, float extra) {
  extern __shared__ float tile[];
  for (int i = threadIdx.x; i < num; i += blockDim.x) tile[i] = source[i];
  __syncthreads();
  for (int i = threadIdx.x; i < num; i += blockDim.x) target[i] = tile[num - 1 - i] + extra;
}
"""
THREADS = 128


@pytest.fixture(scope="module")
def program() -> CudaProgram:
    entries = ("add", "add_struct", "reverse_in_shared")
    return CudaBackend().build(KernelSource(name="add", text=ADD, entries=entries))


def pointer(name: str, tensor: torch.Tensor) -> Pointer:
    return Pointer(
        operand=name,
        tensor=tensor,
        intent="in" if name == "source" else "out",
        argument_index=0,
        offset_bytes=0,
    )


def request(
    source: torch.Tensor, target: torch.Tensor, *, entry: str = "add", shared_bytes: int = 0
) -> LaunchRequest:
    """Return a launch that writes `source + 0.5` (reversed, for the shared kernel) to target."""
    num = source.numel()
    arguments: tuple[Argument, ...] = (
        one(source.data_ptr(), "uint64"),
        one(target.data_ptr(), "uint64"),
        one(num, "int32"),
        one(0.5, "float32"),
    )
    if entry == "add_struct":
        fields = [("source", "u8"), ("target", "u8"), ("num", "i4"), ("extra", "f4")]
        record = np.zeros(1, dtype=np.dtype(fields, align=True))
        for field, argument in zip(record.dtype.names or (), arguments, strict=True):
            record[field] = argument
        arguments = (record,)
    num_blocks = 1 if shared_bytes else -(-num // THREADS)
    return LaunchRequest(
        entry=entry,
        grid=(num_blocks, 1, 1),
        block=(THREADS, 1, 1),
        shared_bytes=shared_bytes,
        arguments=arguments,
        pointers=(pointer("source", source), pointer("target", target)),
    )


def tensors(num: int = 1000, device: str = "cuda") -> tuple[torch.Tensor, torch.Tensor]:
    source = torch.arange(num, dtype=torch.float32, device=device)
    return source, torch.full_like(source, -1)


@pytest.mark.parametrize("entry", ["add", "add_struct"])
def test_typed_parameters_and_a_struct_reach_the_kernel(program: CudaProgram, entry: str) -> None:
    source, target = tensors()
    program.launch(request(source, target, entry=entry))
    assert torch.equal(target, source + 0.5)


def test_an_empty_grid_writes_nothing(program: CudaProgram) -> None:
    source, target = tensors(0)
    program.launch(request(source, target))
    torch.cuda.synchronize()


def test_launches_go_to_the_current_stream(program: CudaProgram) -> None:
    source, target = tensors()
    side = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(200_000_000)
        program.launch(request(source, target))
        done = torch.cuda.Event()
        done.record(side)
    assert not done.query()
    assert target[0].item() == -1  # read on the default stream, while the side stream sleeps
    side.synchronize()
    assert torch.equal(target, source + 0.5)


def test_a_graph_replays_launches_on_what_the_memory_then_holds(program: CudaProgram) -> None:
    source, target = tensors()
    program.launch(request(source, target))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        held_bytes = torch.cuda.memory_allocated()
        program.launch(request(source, target))
        assert torch.cuda.memory_allocated() == held_bytes
    for value in (3.0, 4.0):
        source.fill_(value)
        graph.replay()
        assert torch.equal(target, torch.full_like(target, value + 0.5))


def test_all_the_shared_memory_of_a_block_can_be_used(program: CudaProgram) -> None:
    num_bytes = torch.cuda.get_device_properties(0).shared_memory_per_block_optin
    source, target = tensors(num_bytes // 4)
    program.launch(request(source, target, entry="reverse_in_shared", shared_bytes=num_bytes))
    assert torch.equal(target, source.flip(0) + 0.5)
    too_much = request(source, target, entry="reverse_in_shared", shared_bytes=num_bytes + 1024)
    with pytest.raises(KernelRunError, match="dynamic shared memory"):
        program.launch(too_much)


def test_what_cuda_refuses_is_an_error_and_the_program_stays_usable(program: CudaProgram) -> None:
    source, target = tensors()
    good = request(source, target)
    bad = LaunchRequest(
        entry="add",
        grid=good.grid,
        block=(4096, 1, 1),
        shared_bytes=0,
        arguments=good.arguments,
        pointers=good.pointers,
    )
    with pytest.raises(KernelRunError, match=r"CUDA refused .*\(4096, 1, 1\)"):
        program.launch(bad)
    program.launch(good)
    assert torch.equal(target, source + 0.5)


def test_a_thread_that_never_used_cuda_can_launch(program: CudaProgram) -> None:
    source, target = tensors()
    torch.cuda.synchronize()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(program.launch, request(source, target)).result()
    torch.cuda.synchronize()
    assert torch.equal(target, source + 0.5)


def test_operands_choose_the_device_and_the_current_one_stays(program: CudaProgram) -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip("one CUDA device: nothing to choose")
    before = torch.cuda.current_device()
    source, target = tensors(device="cuda:1")
    program.launch(request(source, target))
    assert torch.cuda.current_device() == before
    assert torch.equal(target, source + 0.5)


def test_variables_are_written_read_and_kept_between_launches() -> None:
    program = CudaBackend().build(scale_source())
    factors = np.array([1, 2, 3, 4], np.float32)
    program.write_variable("factors", factors)
    assert program.read_variable("factors", np.float32, (4,)).tolist() == [1, 2, 3, 4]
    program.write_variable("num_launches", np.array(5, np.int32))
    values = torch.ones(64, device="cuda")
    launch = LaunchRequest(
        entry="scale<float, 64>",
        grid=(1, 1, 1),
        block=(64, 1, 1),
        shared_bytes=0,
        arguments=(one(values.data_ptr(), "uint64"), one(0.5, "float32")),
        pointers=(pointer("target", values),),
    )
    program.launch(launch)
    assert values.tolist() == [4.5, 3.5, 2.5, 1.5] * 16
    program.launch(launch)
    assert program.read_variable("num_launches", np.int32, ()) == 7
    assert program.read_variable("sums::total", np.float64, ()) >= 1.0


def test_a_tensor_is_copied_to_a_variable_in_stream_order() -> None:
    program = CudaBackend().build(scale_source())
    source = torch.zeros(4, device="cuda")
    side = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(200_000_000)
        source.copy_(torch.tensor([1.0, 2, 3, 4], device="cuda"), non_blocking=True)
        program.copy_to_variable("factors", source)
        done = torch.cuda.Event()
        done.record(side)
        assert not done.query()
        assert program.read_variable("factors", np.float32, (4,)).tolist() == [1, 2, 3, 4]
