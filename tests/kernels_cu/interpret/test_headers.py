"""Headers of CUDA that kernels include for a type or two."""

from __future__ import annotations

import pytest
import torch

from paged.kernel.nvrtc import compile_cubin
from paged.kernel.source import KernelSource, read_source
from tests.helpers.cuda_sources import needs_nvrtc
from tests.helpers.interpreted import FOLDER, Passed, given, launch, program

FILE = "headers.cu"


@pytest.mark.parametrize(
    ("entry", "dtype"),
    [
        ("complex_floats", torch.complex64),
        ("complex_doubles", torch.complex128),
        ("complex_classes", torch.complex64),
    ],
)
def test_complex_numbers(entry: str, dtype: torch.dtype) -> None:
    n = 60
    x, y = torch.randn(2, n, dtype=dtype, generator=torch.Generator().manual_seed(0))
    y[:4] *= 1e-18
    out = torch.zeros(7, n, dtype=dtype)
    a, b, c = (torch.view_as_real(t) for t in (x, y, out))
    launch(program(FILE), entry, block=64, a=given(a), b=given(b), out=Passed(c, "out"), n=n)
    wide, other = x.to(torch.complex128), y.to(torch.complex128)
    rows = [wide + other, wide - other, wide * other, wide / other, wide * other + wide]
    expected = torch.stack([*rows, wide.conj(), wide.abs().to(torch.complex128)])
    rtol = 1e-5 if dtype == torch.complex64 else 1e-13
    torch.testing.assert_close(out.to(torch.complex128), expected, rtol=rtol, atol=0)


def test_error_codes() -> None:
    out = torch.zeros(1, dtype=torch.int32)
    launch(program(FILE), "error_codes", block=1, out=Passed(out, "out"))
    assert out.item() == 1


@needs_nvrtc
def test_nvrtc_compiles_the_file_unmodified() -> None:
    path = FOLDER / FILE
    entries = ("complex_floats", "complex_doubles", "complex_classes", "error_codes")
    source = KernelSource(name="headers", text=read_source(path), path=path, entries=entries)
    assert compile_cubin(source, "sm_80").image
