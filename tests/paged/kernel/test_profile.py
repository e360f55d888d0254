"""Instructions of kernels, counted by line: small kernels whose counts are known."""

from __future__ import annotations

import pytest
import torch

from paged.errors import OperandError
from paged.kernel.backends.profiled import Instruction
from paged.kernel.backends.source_frames import Frame
from paged.kernel.problem import Problem
from paged.kernel.profile import KernelProfile, Tally, asked_at, class_of, profile_kernel
from paged.kernel.spec import KernelSpec, Launch, Operand

LANES = 32
FLOATS = 4096
SHARED = """
__shared__ alignas(16) float t[1024];
for (int j = lane; j < 1024; j += 32) t[j] = j;
__syncthreads();
"""


def spec_of(body: str, *, block: int = LANES, grid: int = 1) -> KernelSpec:
    """Return a kernel that may read x and write y, of a few statements."""
    return KernelSpec(
        name="k",
        source=f"""
#include "portable.cuh"
extern "C" __global__ void k(const float* x, float* y) {{
  const int lane = threadIdx.x % 32, i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0.0f;
  {body}
  if (s == 12345.0f) y[0] = s;
}}
""",
        launches=(Launch(entry="k", grid=grid, block=block),),
        operands=(
            Operand(name="x", shape="n", dtype="float32"),
            Operand(name="y", shape="m", dtype="float32", intent="inout"),
        ),
    )


def profile(body: str, **sizes: int) -> KernelProfile:
    problem = Problem(
        name="p",
        operands=(torch.zeros(FLOATS), torch.zeros(FLOATS)),
        numbers={},
        judge=lambda _: None,
    )
    return profile_kernel(spec_of(body, **sizes), problem)


@pytest.mark.parametrize(
    ("body", "num_sectors"),
    [("s += x[i];", 4), ("s += x[8 * i];", 32), ("s += x[0];", 1), ("s += x[i + 1];", 5)],
)
def test_sectors_of_a_request(body: str, num_sectors: int) -> None:
    read = profile(body).classes["global_read"]
    assert (read.num_requests, read.num_lanes, read.num_bytes) == (1, 32, 128)
    assert read.sectors_per_request == num_sectors
    assert read.bytes_over_asked == num_sectors / 4


@pytest.mark.parametrize(
    ("body", "num_wavefronts", "least"),
    [
        ("s += t[lane];", 1, 1),
        ("s += t[2 * lane];", 2, 1),
        ("s += t[32 * lane];", 32, 1),
        ("s += t[33 * lane % 1024];", 1, 1),
        ("s += t[5];", 1, 1),
        ("const float4 v = ((float4*)t)[lane]; s += v.x * v.y + v.z + v.w;", 4, 4),
        ("const float4 v = ((float4*)t)[8 * lane]; s += v.x * v.y + v.z + v.w;", 32, 4),
    ],
)
def test_wavefronts_of_banks(body: str, num_wavefronts: int, least: int) -> None:
    read = profile(SHARED + body).classes["shared_read"]
    assert (read.num_requests, read.num_wavefronts, read.least_wavefronts) == (
        1,
        num_wavefronts,
        least,
    )
    assert read.conflicts == num_wavefronts - least


@pytest.mark.parametrize(("pitch", "num_wavefronts"), [(20, 4), (32, 32)])
def test_rows_of_matrices_meet_in_banks(pitch: int, num_wavefronts: int) -> None:
    body = f"unsigned d[4]; paged::ldmatrix_x4(d, t + {pitch} * lane); s += d[0] + d[3];"
    load = profile(SHARED + body).classes["load_matrix"]
    assert (load.num_requests, load.num_bytes) == (1, 512)
    assert (load.num_wavefronts, load.least_wavefronts) == (num_wavefronts, 4)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("s += __shfl_xor_sync(~0u, s, 1);", "shuffle_or_vote"),
        ("s += __ballot_sync(~0u, lane > 3);", "shuffle_or_vote"),
        ("s += paged::warp_sum(s);", "shuffle_or_vote"),
        ("__syncthreads();", "barrier"),
        ("__syncwarp();", "warp_barrier"),
        ("atomicAdd(y + lane, 1.0f);", "global_atomic"),
        ("y[i] = 1.0f;", "global_write"),
        (
            "float d[4] = {}; const unsigned a[4] = {}, b[2] = {};"
            "paged::mma_m16n8k16<__half>(d, a, b); s += d[0];",
            "mma",
        ),
    ],
)
def test_classes_are_counted_by_warp(body: str, kind: str) -> None:
    found = profile(f"#pragma GCC novector\nfor (int n = 0; n < 3; ++n) {{ {body} }}", block=64)
    assert found.classes[kind].num_requests == 6
    assert found.classes[kind].num_lanes == 6 * 32


def test_copies_in_flight_are_those_that_no_wait_has_brought() -> None:
    copy = "paged::cp_async<16>(t + 4 * lane, x + 4 * i); paged::cp_async_commit();"
    body = f"__shared__ alignas(16) float t[128]; {copy} {copy} paged::cp_async_wait<0>(); {copy}"
    body += "paged::cp_async_wait<0>(); s += t[lane];"
    found = profile(body, grid=3)
    assert found.bytes_in_flight == 2 * 16 * 32
    assert found.classes["async_copy"].num_requests == 9
    assert found.classes["async_copy"].sectors_per_request == 16
    assert "global_read" not in found.classes


def test_lines_are_those_of_the_source() -> None:
    found = profile("s += x[i];\n\n  s += x[2 * i];")
    reads = [each for each in found.lines if each.kind == "global_read"]
    assert sorted((each.line, each.tally.num_sectors) for each in reads) == [(6, 4), (8, 8)]
    assert len({each.file for each in reads}) == 1


def test_primitives_are_put_down_to_who_calls_them() -> None:
    found = profile("const auto v = paged::load_vector<4>(x + 4 * i); s += v[0] + v[3];")
    assert [each.line for each in found.lines if each.kind == "global_read"] == [6]


def test_operands_are_counted_too_and_what_is_written_stays() -> None:
    y = torch.zeros(FLOATS)
    problem = Problem(name="p", operands=(torch.ones(FLOATS), y), numbers={}, judge=lambda _: None)
    found = profile_kernel(spec_of("y[i] = 2.0f * x[i];"), problem)
    assert found.traffic.of("x").read_sector_bytes == 128
    assert y[:33].tolist() == [2.0] * 32 + [0.0]


def test_operands_that_do_not_match_are_refused() -> None:
    problem = Problem(name="p", operands=(torch.zeros(3),), numbers={}, judge=lambda _: None)
    with pytest.raises(OperandError):
        profile_kernel(spec_of(""), problem)


def test_frames_without_a_line_are_told_as_such() -> None:
    assert asked_at([]).file == "?"
    only = Frame(function="f", file="portable_interpret.h", line=3)
    assert asked_at([only]) is only


def test_an_unknown_collective_is_a_shuffle_or_a_vote() -> None:
    instruction = Instruction(
        kind="collective",
        frames=(),
        num_requests=1,
        num_lanes=1,
        num_bytes=0,
        num_sectors=0,
        num_wavefronts=0,
        least_wavefronts=0,
    )
    assert class_of(instruction) == "shuffle_or_vote"
    assert Tally.sum([instruction, Tally(num_requests=2)]).num_requests == 3
