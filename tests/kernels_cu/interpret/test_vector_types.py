"""Vector types in the interpreter: layout, alignment, constructors, dim3."""

from __future__ import annotations

import pytest
import torch

from paged.kernel.backends.interpret import InterpretBackend, InterpretConfig
from paged.kernel.nvrtc import compile_cubin
from paged.kernel.source import KernelSource, read_source
from tests.helpers.cuda_launch import Memory, launch
from tests.helpers.cuda_sources import needs_nvrtc
from tests.helpers.elementwise import KERNELS_DIR

PATH = KERNELS_DIR / "vector_types.cu"
SOURCE = KernelSource(
    name="vector_types", text=read_source(PATH), path=PATH, entries=("layouts", "extents")
)
NUM_TYPES = 12


def run(entry: str, num_results: int) -> list[int]:
    out = torch.zeros(num_results, dtype=torch.int32)
    program = InterpretBackend(InterpretConfig()).build(SOURCE)
    launch(program, entry, Memory("inout", out), grid=1, block=1)
    return out.tolist()


def test_elements_follow_each_other_in_every_type() -> None:
    assert run("layouts", 4 * NUM_TYPES) == [1, 12, 123, 1234] * NUM_TYPES


def test_an_extent_is_one_where_not_given_and_is_a_uint3() -> None:
    assert run("extents", 8) == [2, 3, 4, 1, 1, 1, 9, 3]


@needs_nvrtc
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_nvidias_types_have_the_same_layout(arch: str) -> None:
    assert compile_cubin(SOURCE, arch).image.startswith(b"\x7fELF")
