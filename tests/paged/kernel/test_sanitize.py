"""Sanitized calls: what they give where nothing is wrong, and what they say of what is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from paged.errors import OperandError, SanitizerError
from paged.kernel.call import Interpret, kernel_call
from paged.kernel.finding import Finding
from paged.kernel.sanitize import SanitizeConfig
from paged.kernel.spec import KernelSpec, Launch, Operand

BLOCK = 64
LAUNCHES = (Launch(entry="k", grid=2, block=BLOCK),)


def spec_of(body: str, *, before: str = "", launches: tuple[Launch, ...] = LAUNCHES) -> KernelSpec:
    """Return a kernel of 128 threads that reads x, adds to z and writes y."""
    return KernelSpec(
        name="k",
        source=f"""
{before}
extern "C" __global__ void k(const float* x, float* z, float* y, float* w) {{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  {body}
}}
""",
        launches=launches,
        operands=(
            Operand(name="x", shape="n", dtype="float32"),
            Operand(name="z", shape="n", dtype="float32", intent="inout"),
            Operand(name="y", shape="n 2", dtype="float32", intent="out"),
            Operand(name="w", shape="n", dtype="float32", intent="workspace"),
        ),
    )


FILL = "y[2 * i] = x[i]; y[2 * i + 1] = z[i];"


def call(spec: KernelSpec, interpret: Interpret = "sanitize") -> tuple[torch.Tensor, torch.Tensor]:
    """Return y and z."""
    z = torch.arange(128.0)
    y = kernel_call(spec, torch.ones(128), z, interpret=interpret)
    assert isinstance(y, torch.Tensor)
    return y, z


def findings(spec: KernelSpec, interpret: Interpret = "sanitize") -> tuple[Finding, ...]:
    """Return what is found."""
    with pytest.raises(SanitizerError) as raised:
        call(spec, interpret)
    return raised.value.findings


def test_a_clean_call_gives_what_a_plain_one_gives() -> None:
    spec = spec_of(FILL + " z[i] += 1.0f;")
    y, z = call(spec)
    plain_y, plain_z = call(spec, interpret=True)
    assert torch.equal(y, plain_y)
    assert torch.equal(z, plain_z)


@pytest.mark.parametrize(
    "body",
    [
        # lanes of half a warp meet, and exchange among themselves
        """__shared__ float s[64];
        s[threadIdx.x] = x[i];
        if (threadIdx.x % 32 < 16) __syncwarp(0xffffu); else __syncwarp(0xffff0000u);
        z[i] = s[threadIdx.x ^ 1];""",
        # neighbours write bytes of one word
        """unsigned char* bytes = reinterpret_cast<unsigned char*>(w);
        for (int j = 0; j < 4; ++j) bytes[128 * (i / 32 % 4) + 32 * j + i % 32] = 0;""",
        # a lock orders what it guards, with fences on both sides
        """__shared__ int lock, sum;
        if (threadIdx.x == 0) { lock = 0; sum = 0; }
        __syncthreads();
        while (atomicCAS(&lock, 0, 1) != 0) {}
        __threadfence_block();
        sum += 1;
        __threadfence_block();
        atomicExch(&lock, 0);
        __syncthreads();
        z[i] = sum;""",
        # a flag in volatile memory, and a fence behind it
        """__shared__ volatile int ready; __shared__ float s;
        if (threadIdx.x == 0) ready = 0;
        __syncthreads();
        if (threadIdx.x == 63) { s = x[i]; __threadfence_block(); ready = 1; }
        while (ready == 0) {}
        __threadfence_block();
        z[i] = s;""",
    ],
)
def test_accesses_that_are_ordered_are_clean(body: str) -> None:
    call(spec_of(FILL + body))


def test_a_call_with_findings_changes_nothing() -> None:
    z = torch.arange(128.0)
    with pytest.raises(SanitizerError):
        kernel_call(spec_of(FILL + " z[i] = x[i + 1];"), torch.ones(128), z, interpret="sanitize")
    assert torch.equal(z, torch.arange(128.0))


def test_a_finding_names_operand_index_line_and_threads() -> None:
    (found,) = findings(spec_of(FILL + "\n  z[i / 2] = 1.0f;"))
    assert (found.kind, found.kernel, found.operand, found.index) == ("warp_race", "k", "z", (0,))
    assert (found.place.file, found.place.line) == ("<k>", 6)
    assert (found.place.block, found.place.thread) == ((0, 0, 0), (1, 0, 0))
    assert found.other is not None
    assert (found.other.line, found.other.thread) == (6, (0, 0, 0))
    assert "z[0]" in found.message


def test_a_race_between_blocks_names_both() -> None:
    (found,) = findings(spec_of(FILL + "\n  z[threadIdx.x] = 1.0f;"))
    assert (found.kind, found.place.block) == ("global_race", (1, 0, 0))
    assert found.other is not None
    assert found.other.block == (0, 0, 0)


def test_threads_and_blocks_are_named_by_their_axes() -> None:
    launches = (Launch(entry="k", grid=(1, 2), block=(8, 8)),)
    body = "const int j = blockIdx.y * 64 + threadIdx.y * 8 + threadIdx.x; y[2 * j + 2] = x[j];"
    found = findings(spec_of(body, launches=launches))[0]
    assert (found.kind, found.operand) == ("out_of_bounds", "y")
    assert (found.place.block, found.place.thread) == ((0, 1, 0), (7, 7, 0))
    assert "y[256] in memory order, just past the end of the operand" in found.message


def test_what_one_launch_wrote_the_next_may_read() -> None:
    launches = (Launch(entry="k", grid=2, block=64), Launch(entry="later", grid=2, block=64))
    later = """
extern "C" __global__ void later(const float* x, float* z, float* y, float* w) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[2 * i + 1] = w[127 - i];
}
"""
    call(spec_of("w[i] = x[i]; y[2 * i] = 0.0f;", before=later, launches=launches))
    (found,) = findings(
        spec_of("if (i) w[i] = x[i]; y[2 * i] = 0.0f;", before=later, launches=launches)
    )
    assert (found.kind, found.kernel, found.operand) == ("uninitialized_read", "later", "w")
    assert (found.index, found.line) == ((0,), 5)


def test_an_output_that_is_not_written_everywhere() -> None:
    spec = spec_of("if (i != 70) { y[2 * i] = x[i]; } y[2 * i + 1] = z[i];")
    (found,) = findings(spec)
    assert (found.kind, found.operand, found.index) == ("unwritten_output", "y", (70, 0))
    call(spec, SanitizeConfig(partial=frozenset({"y"}), seeds=()))


def test_results_that_depend_on_who_comes_first() -> None:
    counter = "__device__ unsigned next;\n"
    spec = spec_of("const int j = atomicAdd(&next, 1u); " + FILL + " z[i] = j;", before=counter)
    (found,) = findings(spec)
    assert (found.kind, found.operand) == ("order_dependent", "z")
    _, z = call(spec, SanitizeConfig(seeds=()))
    _, again = call(spec, SanitizeConfig(seeds=()))
    assert torch.equal(again, z), "each call begins with variables as the source has them"


def test_a_changed_header_is_judged_anew(tmp_path: Path) -> None:
    header = tmp_path / "step.h"
    spec = spec_of(FILL + " z[i + STEP] = 1;", before='#include "step.h"')
    spec = replace(spec, include_dirs=(tmp_path,))
    header.write_text("#define STEP 0\n")
    call(spec)
    header.write_text("#define STEP 128\n")
    assert findings(spec)[0].kind == "out_of_bounds"


def test_operands_are_checked_first() -> None:
    with pytest.raises(OperandError):
        kernel_call(spec_of(FILL), torch.ones(3), torch.ones(4), interpret="sanitize")


def test_memory_between_the_elements_of_an_operand_is_out_of_bounds() -> None:
    spec = KernelSpec(
        name="k",
        source="""
extern "C" __global__ void k(const __grid_constant__ KParams p) {
  p.y[threadIdx.x] = p.x[threadIdx.x * p.x_stride[0] + 2];
}
""",
        launches=(Launch(entry="k", grid=1, block=4),),
        operands=(
            Operand(name="x", shape="n width", dtype="float32", strided=True),
            Operand(name="y", shape="n", dtype="float32", intent="out"),
        ),
        passing="struct",
    )
    whole = torch.arange(12.0).view(4, 3)
    y = kernel_call(spec, whole, interpret="sanitize")
    assert isinstance(y, torch.Tensor)
    assert y.tolist() == [2.0, 5.0, 8.0, 11.0]
    with pytest.raises(SanitizerError) as raised:
        kernel_call(spec, whole[:, :2], interpret="sanitize")
    found = raised.value.findings[0]
    assert (found.kind, found.operand, found.line) == ("out_of_bounds", "x", 3)
    assert "memory between elements of x, 8 bytes in" in found.message
