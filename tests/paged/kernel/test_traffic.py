"""Accesses of kernels, counted by operand: small kernels whose counts are known."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest
import torch

from paged.errors import BackendUnavailable, KernelRunError
from paged.kernel.backends.host_compiler import find_compiler
from paged.kernel.backends.interpret import InterpretConfig
from paged.kernel.spec import KernelSpec, Launch, Operand
from paged.kernel.traffic import OperandTraffic, Traffic, measure_traffic
from paged.kernel.work import Cost, Work

LANES = 32
FLOATS = 2048


def spec_of(body: str, *, before: str = "", block: int = LANES, grid: int = 1) -> KernelSpec:
    """Return a kernel that may read x and write y, of a few statements."""
    return KernelSpec(
        name="k",
        source=f"""
#include "portable.cuh"
{before}
extern "C" __global__ void k(const float* x, float* y) {{
  const int lane = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
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


def traffic_of(spec: KernelSpec, interpret: InterpretConfig | None = None) -> Traffic:
    """Count a call on zeros."""
    return measure_traffic(spec, torch.zeros(FLOATS), torch.zeros(FLOATS), interpret=interpret)


def counts(traffic: OperandTraffic) -> tuple[int, int, int]:
    """Return accesses, bytes that threads ask for and bytes of sectors, either way."""
    return (
        traffic.num_reads + traffic.num_writes,
        traffic.read_bytes + traffic.write_bytes,
        traffic.sector_bytes,
    )


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("s += x[i];", (32, 128, 128)),
        ("s += x[i + 1];", (32, 128, 160)),
        ("s += x[32 * i];", (32, 128, 32 * 32)),
        ("s += x[7];", (32, 128, 32)),
        ("s += __ldg(x + i);", (32, 128, 128)),
        ("const float4 v = ((const float4*)x)[i]; s += v.x * v.y + v.w;", (32, 512, 512)),
        ("const auto v = paged::load_vector<2>(x + 2 * i); s += v[0] + v[1];", (32, 256, 256)),
        ("const float2 v = ((const float2*)x)[2 * i]; s += v.x + v.y;", (32, 256, 512)),
        ("Six v = ((const Six*)x)[i]; s += v.at[0] + v.at[5];", (64, 768, 2 * 768)),
        ("if (lane < 4) s += x[i];", (4, 16, 32)),
        ("s += x[i] * x[i];", (32, 128, 128)),
    ],
)
def test_reads(body: str, expected: tuple[int, int, int]) -> None:
    traffic = traffic_of(spec_of(body, before="struct Six { float at[6]; };"))
    assert counts(traffic.of("x")) == expected
    assert traffic.of("x").num_writes == 0
    assert counts(traffic.of("y")) == (0, 0, 0)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("y[i] = 1.0f;", (32, 128, 128)),
        ("y[2 * i] = 1.0f;", (32, 128, 256)),
        ("((float4*)y)[i] = float4{1, 2, 3, 4};", (32, 512, 512)),
        ("paged::store_vector(y + 2 * i, paged::Vector<float, 2>{{1, 2}});", (32, 256, 256)),
        ("memset(y + 4 * i, 0, 16);", (32, 512, 512)),
        ("std::memset(y + 4 * i, 0, 16);", (32, 512, 512)),
    ],
)
def test_writes(body: str, expected: tuple[int, int, int]) -> None:
    traffic = traffic_of(spec_of(body))
    assert counts(traffic.of("y")) == expected
    assert traffic.of("y").num_reads == 0


@pytest.mark.parametrize(
    "operation", ["atomicAdd(y + i % 4, 1.0f);", "atomicCAS((int*)y + i % 4, 0, lane);"]
)
def test_atomics_read_and_write(operation: str) -> None:
    y = traffic_of(spec_of(operation)).of("y")
    assert (y.num_reads, y.num_writes) == (32, 32)
    assert (y.read_bytes, y.write_bytes) == (128, 128)
    assert (y.read_sector_bytes, y.write_sector_bytes) == (32, 32)


def test_asynchronous_copies_are_reads_of_what_they_copy() -> None:
    body = """
      __shared__ alignas(16) float tile[128];
      paged::cp_async<16>(tile + 4 * lane, x + 4 * i, lane < 8 ? 16 : 0);
      paged::cp_async_commit();
      paged::cp_async_wait<0>();
      s += tile[lane];
    """
    assert counts(traffic_of(spec_of(body)).of("x")) == (8, 128, 128)


@pytest.mark.parametrize("function", ["memcpy", "std::memcpy", "memmove"])
@pytest.mark.parametrize("num_bytes", [16, 24])
def test_copies_of_bytes(function: str, num_bytes: int) -> None:
    body = f"{function}(y + 8 * i, x + 8 * i, {num_bytes});"
    traffic = traffic_of(spec_of(body))
    num_parts = -(-num_bytes // 16)
    expected = (32 * num_parts, 32 * num_bytes, num_parts * 32 * 32)
    assert counts(traffic.of("x")) == expected
    assert counts(traffic.of("y")) == expected


@pytest.mark.parametrize(
    "barrier", ["__syncwarp();", "__syncthreads();", "s += __shfl_xor_sync(~0u, s, 1);"]
)
def test_requests_do_not_reach_over_a_meeting_of_the_warp(barrier: str) -> None:
    # without the barrier the upper lanes' first read belongs with the lower lanes' first
    body = f"""
      const int end = 1 + gridDim.x;
      for (int k = 0; k < end; ++k) {{ if (k == 1 || lane < 16) s += x[8 * k]; {barrier} }}
    """
    assert counts(traffic_of(spec_of(body)).of("x")) == (48, 192, 64)
    assert counts(traffic_of(spec_of(body.replace(barrier, ""))).of("x")) == (48, 192, 96)


def test_loops_of_different_lengths_keep_in_step() -> None:
    body = "for (int k = 0; k <= lane; ++k) s += x[8 * k];"
    assert counts(traffic_of(spec_of(body)).of("x")) == (32 * 33 // 2, 64 * 33, 32 * 32)


def test_a_lane_that_does_more_does_not_part_the_others() -> None:
    body = "if (lane == 0) s += x[1024] + y[5]; s += x[i]; s += x[i + 64];"
    assert counts(traffic_of(spec_of(body)).of("x")) == (65, 260, 32 + 256)
    last = body.replace("lane == 0", "lane == 31")
    assert counts(traffic_of(spec_of(last)).of("x")) == (65, 260, 32 + 256)


def test_a_lane_that_falls_out_of_step_knows_what_it_has_done() -> None:
    body = """
      const int end = 1 + gridDim.x;
      for (int k = 0; k < end; ++k) { s += x[8 * k]; if (lane == 0 && k == 0) s += y[5]; }
    """
    assert counts(traffic_of(spec_of(body)).of("x")) == (64, 256, 64)


def test_two_branches_make_two_requests() -> None:
    body = "if (lane % 2) s += x[i]; else s -= x[i];"
    assert counts(traffic_of(spec_of(body)).of("x")) == (32, 128, 256)


def test_a_function_is_another_place_for_each_of_its_callers() -> None:
    before = "__device__ __noinline__ float get(const float* p) { return *p; }"
    body = "if (lane % 2) s += get(x + i); else s -= get(x + i);"
    assert counts(traffic_of(spec_of(body, before=before)).of("x")) == (32, 128, 256)


@pytest.mark.parametrize(
    "interpret",
    [
        InterpretConfig(num_workers=1),
        InterpretConfig(num_workers=3, seed=5),
        InterpretConfig(num_workers=3, guard="begin"),
        InterpretConfig(num_workers=3, isolate=False),
        InterpretConfig(optimize="-O2"),
    ],
)
def test_all_warps_and_blocks_count(interpret: InterpretConfig) -> None:
    traffic = traffic_of(spec_of("y[i] = x[i] + 1.0f;", block=128, grid=16), interpret)
    assert counts(traffic.of("x")) == (2048, 8192, 8192)
    assert counts(traffic.of("y")) == (2048, 8192, 8192)
    # y might have been read as well
    assert traffic.least_bytes == 3 * 8192
    assert traffic.bytes_over_minimum == pytest.approx(2 / 3)


@pytest.mark.parametrize("num_floats", [36, 40])
@pytest.mark.parametrize(("first", "sector_bytes"), [(0, 128), (4, 160)])
def test_sectors_are_the_callers(num_floats: int, first: int, sector_bytes: int) -> None:
    # isolated operands lie elsewhere: their last byte at the end of a page
    x = torch.zeros(num_floats + first)[first:]
    traffic = measure_traffic(spec_of("s += x[i];"), x, torch.zeros(8))
    assert counts(traffic.of("x")) == (32, 128, sector_bytes)


@pytest.mark.parametrize("kind", ["none", "whole", "operands"])
def test_the_least_is_the_cost_models(kind: Literal["none", "whole", "operands"]) -> None:
    spec = spec_of("y[i] = x[0];")
    works = {"operands": Work.of({"x": 64, "y": 128})}
    cost = {
        "none": Cost(),
        "whole": Cost(bytes="n // 2"),
        "operands": Cost(work=lambda _: works["operands"], text=""),
    }[kind]
    traffic = measure_traffic(replace(spec, cost=cost), torch.zeros(32), torch.zeros(32))
    expected = {"none": (128, 256), "whole": (None, None), "operands": (64, 128)}[kind]
    assert tuple(each.least_bytes for each in traffic.operands) == expected
    assert traffic.bytes_over_minimum == (32 + 128) / {"none": 384, "whole": 16}.get(kind, 192)
    share = traffic.of("x").bytes_over_minimum
    assert share == {"none": 0.25, "whole": None, "operands": 0.5}[kind]


def test_launches_add_up_and_workspaces_have_no_least() -> None:
    spec = KernelSpec(
        name="k",
        source="""
extern "C" __global__ void put(const float* x, float* w, float* y) { w[threadIdx.x] = *x; }
extern "C" __global__ void take(const float* x, float* w, float* y) {
  y[threadIdx.x] = w[threadIdx.x] + *x;
}
""",
        launches=(Launch(entry="put", grid=1, block=64), Launch(entry="take", grid=1, block=64)),
        operands=(
            Operand(name="x", shape="1", dtype="float32"),
            Operand(name="w", shape="64", dtype="float32", intent="workspace"),
            Operand(name="y", shape="64", dtype="float32", intent="out"),
        ),
    )
    traffic = measure_traffic(spec, torch.zeros(1))
    assert counts(traffic.of("x")) == (128, 512, 128)
    w = traffic.of("w")
    assert (w.read_sector_bytes, w.write_sector_bytes, w.least_bytes) == (256, 256, 0)
    assert w.bytes_over_minimum is None
    assert traffic.bytes_over_minimum == (128 + 512 + 256) / (4 + 256)


def test_an_empty_grid_moves_nothing() -> None:
    traffic = traffic_of(spec_of("y[i] = x[i];", grid=0))
    assert [counts(each) for each in traffic.operands] == [(0, 0, 0), (0, 0, 0)]


def test_the_call_happens() -> None:
    y = torch.zeros(32)
    measure_traffic(spec_of("y[i] = x[i] + 1.0f;"), torch.arange(32.0), y)
    assert y.tolist() == [float(n) for n in range(1, 33)]
    with pytest.raises(KernelRunError, match="past the end of operand 'x'"):
        measure_traffic(spec_of("s += x[i + 64];"), torch.zeros(32), torch.zeros(32))


def test_another_compiler_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    clang = replace(find_compiler(), version="clang version 15")
    monkeypatch.setattr("paged.kernel.backends.interpret.find_compiler", lambda: clang)
    monkeypatch.setattr("paged.kernel.backends.interpret.load_runtime", lambda _: None)
    with pytest.raises(BackendUnavailable, match="g\\+\\+ only, got clang version 15"):
        traffic_of(spec_of("s += x[i];"))
