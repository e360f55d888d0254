"""Registers, spills, stack and shared memory are read from the assembler's log."""

from __future__ import annotations

from dataclasses import replace

import pytest

from paged.errors import KernelCompileError
from paged.kernel.nvrtc import Cubin, compile_cubin
from paged.kernel.resources import resources
from paged.kernel.source import KernelSource
from tests.helpers.cuda_sources import needs_nvrtc, scale_source

LOG = """ptxas info    : 20 bytes gmem, 48 bytes cmem[3]
ptxas info    : Compiling entry function '_Z1av' for 'sm_90'
ptxas info    : Function properties for _Z1av
ptxas         .     120 bytes stack frame, 24 bytes spill stores, 36 bytes spill loads
ptxas info    : Used 39 registers, used 1 barriers, 120 bytes cumulative stack size, 1024 bytes smem
ptxas info    : Compile time = 23.995 ms
ptxas info    : Function properties for _Z6helperf
ptxas         .     8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Compiling entry function '_Z1bv' for 'sm_90'
ptxas info    : Function properties for _Z1bv
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers, used 0 barriers, 400 bytes cmem[0]
"""


def of_log(log: str) -> Cubin:
    symbols = (("b", "_Z1bv"), ("a", "_Z1av"))
    return Cubin(arch="sm_90", image=b"", symbols=symbols, log=log)


def test_each_entry_has_its_own_numbers() -> None:
    taken = resources(of_log(LOG))
    assert list(taken) == ["b", "a"]
    assert taken["a"].num_registers == 39
    assert taken["a"].stack_bytes == 120
    assert taken["a"].spill_store_bytes == 24
    assert taken["a"].spill_load_bytes == 36
    assert taken["a"].static_shared_bytes == 1024
    assert taken["a"].spills
    assert taken["b"].num_registers == 12
    assert taken["b"].static_shared_bytes == 0
    assert not taken["b"].spills


def test_loads_alone_are_spills_too() -> None:
    log = LOG.replace("24 bytes spill stores", "0 bytes spill stores")
    assert resources(of_log(log))["a"].spills


def test_an_entry_that_the_log_lacks_is_an_error() -> None:
    with pytest.raises(KernelCompileError, match=r"sm_90 says nothing of b:"):
        resources(of_log(LOG[: LOG.index("ptxas info    : Compiling entry function '_Z1bv'")]))


@needs_nvrtc
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100"])
def test_a_compiled_template_takes_the_shared_memory_it_declares(arch: str) -> None:
    taken = resources(compile_cubin(scale_source(), arch))
    assert taken["scale<float, 64>"].static_shared_bytes == 64 * 4
    assert taken["scale<float, 128>"].static_shared_bytes == 128 * 4
    assert 0 < taken["scale<float, 64>"].num_registers <= 32


@needs_nvrtc
def test_too_few_registers_are_seen_as_spills() -> None:
    text = """
    __global__ void __launch_bounds__(1024, 2) k(float* x) {
      float kept[96];
    #pragma unroll
      for (int i = 0; i < 96; ++i) kept[i] = x[i * 1024 + threadIdx.x];
      __syncthreads();
    #pragma unroll
      for (int i = 0; i < 96; ++i) x[i * 1024 + threadIdx.x] = kept[95 - i];
    }
    """
    source = KernelSource(name="k", text=text, entries=("k",))
    assert resources(compile_cubin(source, "sm_80"))["k"].spills
    roomy = replace(source, text=text.replace("(1024, 2)", "(256)"))
    assert not resources(compile_cubin(roomy, "sm_80"))["k"].spills
