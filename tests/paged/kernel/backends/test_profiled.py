"""Instructions of a launch: merged over blocks, with the places they are at."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from paged.errors import KernelRunError, OperandError
from paged.kernel.backends.profiled import ProfiledProgram
from paged.kernel.binding import bind
from paged.kernel.instance import instantiate, requests
from paged.kernel.launch import LaunchRequest
from paged.kernel.plan import ready_call
from paged.kernel.spec import KernelSpec, Launch, Operand

SOURCE = """
extern "C" __global__ void k(float* y) {
  if (y[blockIdx.x] < 0.0f) __trap();
  y[blockIdx.x] = 1.0f;
}
"""


SPEC = KernelSpec(
    name="k",
    source=SOURCE,
    launches=(Launch(entry="k", grid=3, block=1),),
    operands=(Operand(name="y", shape="n", dtype="float32", intent="inout"),),
)


def profiled(y: torch.Tensor) -> tuple[ProfiledProgram, LaunchRequest]:
    binding = bind(SPEC, (y,), {})
    program = ProfiledProgram(instantiate(SPEC, binding.types, binding.sizes))
    (launch,) = ready_call(binding, requests(binding)).launches
    return program, launch


def test_blocks_are_counted_together_wherever_they_ran() -> None:
    y = torch.zeros(4)
    program, launch = profiled(y)
    instructions, bytes_in_flight = program.profile(launch)
    by_kind = {kind: [each for each in instructions if each.kind == kind] for kind in
               ("global_read", "global_write")}  # fmt: skip
    for found in by_kind.values():
        assert sum(each.num_requests for each in found) == 3
        assert {each.frames[0].function for each in found} == {"k"}
    assert bytes_in_flight == 0
    assert y.tolist() == [1.0, 1.0, 1.0, 0.0]


def test_no_blocks_have_no_instructions() -> None:
    program, launch = profiled(torch.zeros(4))
    assert program.profile(replace(launch, grid=(0, 1, 1))) == ([], 0)


def test_a_kernel_that_fails_is_told() -> None:
    program, launch = profiled(torch.full((4,), -1.0))
    with pytest.raises(KernelRunError, match="k: it failed when it was profiled"):
        program.profile(launch)


def test_variables_that_are_not_there_are_refused() -> None:
    program, _ = profiled(torch.zeros(4))
    with pytest.raises(OperandError, match="none"):
        program.copy_to_variable("none", torch.zeros(1))
