"""Find out what of the kernels works on this machine, and why the rest does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from paged.errors import PagedError
from paged.kernel import nvrtc
from paged.kernel.backends.cuda import CudaBackend, arch_for
from paged.kernel.backends.cuda_driver import why_unavailable
from paged.kernel.backends.host import HostConfig, load_host
from paged.kernel.backends.host_compiler import find_compiler
from paged.kernel.backends.host_ops import run_host_op
from paged.kernel.backends.interpret import InterpretBackend, InterpretConfig
from paged.kernel.launch import Backend, LaunchRequest, Pointer, one
from paged.kernel.plans import Given
from paged.kernel.registry import find_op
from paged.kernel.source import KernelSource
from paged.kernel.toolkit import Toolkit, examine, find_tool, find_toolkit, places, show

DISASSEMBLERS = ("nvdisasm", "cuobjdump")

_NUM_VALUES = 64
_TRIAL = KernelSource(
    name="trial",
    text="__global__ void trial(int* values) { values[threadIdx.x] = 3 * threadIdx.x; }\n",
    entries=("trial",),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether a thing can be used, and what it is or why not."""

    name: str
    is_usable: bool
    text: str


def compilers() -> Iterator[Verdict]:
    """Examine the compiler of the interpreter and that of the GPU."""
    yield _verdict("host C++", lambda: find_compiler().version)
    yield _verdict("NVRTC", _compile_trial)


def toolkits() -> Iterator[Verdict]:
    """Examine every place where CUDA's compiler library and headers may be."""
    for place in places():
        found = examine(place).found
        is_usable = isinstance(found, Toolkit)
        text = f"NVRTC {show(found.version)}, {found.library}" if is_usable else str(found)
        yield Verdict(name=place.name, is_usable=is_usable, text=text)


def disassemblers() -> Iterator[Verdict]:
    """Look for the tools that the compile gate reads machine code with."""
    for name in DISASSEMBLERS:
        yield _verdict(name, lambda name=name: str(find_tool(name)))


def devices() -> Iterator[Verdict]:
    """List the GPUs, with the code each is given; without any, why."""
    reason = why_unavailable()
    if reason is not None:
        yield Verdict(name="none", is_usable=False, text=reason)
        return
    for i in range(torch.cuda.device_count()):
        yield _verdict(f"cuda:{i}", lambda i=i: _describe_device(i))


def backends() -> Iterator[Verdict]:
    """Run a small kernel on each backend."""
    yield Verdict(name="reference", is_usable=True, text=f"torch {torch.__version__}")
    yield _verdict("host", _copy_on_host)
    yield _verdict("interpret", lambda: _run_trial(InterpretBackend(InterpretConfig()), "cpu"))
    yield _verdict("cuda", lambda: _run_trial(CudaBackend(), "cuda"))


def _verdict(name: str, find: Callable[[], str]) -> Verdict:
    try:
        return Verdict(name=name, is_usable=True, text=find())
    except (PagedError, RuntimeError) as error:  # torch's own, of a device that fails
        return Verdict(name=name, is_usable=False, text=str(error))


def _compile_trial() -> str:
    toolkit = find_toolkit()
    for arch in nvrtc.ARCHS:
        nvrtc.compile_cubin(_TRIAL, arch)
    return f"{show(toolkit.version)}, compiles for {' '.join(nvrtc.ARCHS)}"


def _describe_device(index: int) -> str:
    _, total_bytes = torch.cuda.mem_get_info(index)
    arch = arch_for(torch.cuda.get_device_capability(index))
    name = torch.cuda.get_device_name(index)
    return f"{name}, {total_bytes / 2**30:.1f} GiB, gets code for {arch}"


def _run_trial(backend: Backend, device: str) -> str:
    values = torch.zeros(_NUM_VALUES, dtype=torch.int32, device=device)
    pointer = Pointer(
        operand="values", tensor=values, intent="out", argument_index=0, offset_bytes=0
    )
    request = LaunchRequest(
        entry="trial",
        grid=(1, 1, 1),
        block=(_NUM_VALUES, 1, 1),
        shared_bytes=0,
        arguments=(one(values.data_ptr(), "uint64"),),
        pointers=(pointer,),
    )
    backend.build(_TRIAL).launch(request)
    if not torch.equal(values.cpu(), 3 * torch.arange(_NUM_VALUES, dtype=torch.int32)):
        raise PagedError(f"a small kernel ran, and computed what it should not: {values}")
    return "runs a small kernel"


def _copy_on_host() -> str:
    host = load_host(HostConfig())
    pool = torch.arange(4.0 * _NUM_VALUES).view(2, 1, 2, 1, 1, _NUM_VALUES)
    run_host_op(find_op("copy_blocks"), Given.of((pool, torch.tensor([[0, 1]])), {}), host)
    if not torch.equal(pool[0], pool[1]):
        raise PagedError(f"a block was copied, and holds what it should not: {pool}")
    return f"copies a block with {host.level.name} code; {host.num_threads} threads"
