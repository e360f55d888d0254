"""Variables of a cubin are found by their mangled names, with their sizes."""

from __future__ import annotations

import pytest

from paged.errors import KernelCompileError
from paged.kernel.elf import mangled, variable_sizes_bytes
from paged.kernel.nvrtc import compile_cubin
from tests.helpers.cuda_sources import copy_source, needs_nvrtc, scale_source


@needs_nvrtc
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100"])
def test_variables_have_the_sizes_they_were_declared_with(arch: str) -> None:
    sizes = variable_sizes_bytes(compile_cubin(scale_source(), arch).image)
    assert sizes == {"num_launches": 4, "factors": 16, "_ZN4sums5totalE": 8}


@needs_nvrtc
def test_a_source_without_variables_has_none() -> None:
    assert variable_sizes_bytes(compile_cubin(copy_source(), "sm_80").image) == {}


def test_what_is_no_elf_file_is_refused() -> None:
    with pytest.raises(KernelCompileError, match="expected an ELF image"):
        variable_sizes_bytes(b"PTX text")


@pytest.mark.parametrize(
    ("name", "symbol"),
    [
        ("counter", "counter"),
        ("::counter", "counter"),
        ("sums::total", "_ZN4sums5totalE"),
        ("a::b::c_d", "_ZN1a1b3c_dE"),
    ],
)
def test_names_are_mangled_as_the_compiler_does(name: str, symbol: str) -> None:
    assert mangled(name) == symbol
