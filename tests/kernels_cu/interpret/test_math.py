"""Device mathematics in the interpreter against NumPy, exact arithmetic and plain definitions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
import scipy.special
import torch

from paged.errors import KernelRunError
from paged.kernel.nvrtc import compile_cubin
from tests.helpers.cuda_sources import needs_nvrtc
from tests.helpers.elementwise import Elementwise
from tests.helpers.number_formats import MODES, Mode

FLOAT_INTEGERS = {
    **{"int": torch.int32, "unsigned int": torch.uint32},
    **{"long long": torch.int64, "unsigned long long": torch.uint64},
}
TO_INTEGERS = {
    **{"float_to_int": torch.int32, "float_to_uint": torch.uint32},
    **{"float_to_ll": torch.int64, "float_to_ull": torch.uint64},
    **{"double_to_int": torch.int32, "double_to_ull": torch.uint64},
}
KERNELS = Elementwise(
    file="math.cu",
    entries=(
        *("unary", "directed<float>", "directed<double>", "to_float", "integer", "video"),
        *("extrema", "cached", "misaligned", "lengths", *TO_INTEGERS),
        *(f"from_integer<{name}>" for name in FLOAT_INTEGERS),
    ),
)

Real = Callable[[np.ndarray], np.ndarray]


def sine_of_half_turns(x: np.ndarray) -> np.ndarray:
    """Return sin(pi x), by symmetry from the nearest whole number: exact where it is zero."""
    nearest = np.rint(x)
    return np.where(nearest % 2, -1, 1) * np.sin(np.pi * (x - nearest))


UNARY: tuple[Real, ...] = (
    *(np.exp, lambda x: 10.0**x, np.log, np.log2, np.log10, np.sin),
    *(
        np.cos,
        np.tan,
        np.sin,
        lambda x: sine_of_half_turns(0.5 - np.abs(np.remainder(x, 2.0))),
        lambda x: x**-0.5,
        lambda x: x**-0.5,
    ),
    *(np.exp2, lambda x: 10.0**x, scipy.special.erf, scipy.special.erfc),
    *(scipy.special.erfinv, scipy.special.erfcinv, scipy.special.ndtr, np.tanh),
    *(scipy.special.ndtri, scipy.special.erfcx, lambda x: 1 / np.cbrt(x)),
    *(lambda x: np.clip(x, 0, 1), sine_of_half_turns, np.log1p, lambda x: x**-0.5),
    *(np.exp, np.abs, np.rint),
)
EXACT = {
    "add": lambda a, b, c: a + b,
    "sub": lambda a, b, c: a - b,
    "mul": lambda a, b, c: a * b,
    "div": lambda a, b, c: a / b,
    "fma": lambda a, b, c: a * b + c,
    "rcp": lambda a, b, c: 1 / a,
}


def test_functions_are_within_four_units_in_the_last_place() -> None:
    x = np.concatenate([np.linspace(-9, 9, 4001), np.linspace(0.001, 2, 2000), np.logspace(-6, 3)])
    x = x.astype(np.float32)
    rows = KERNELS.run("unary", torch.from_numpy(x), dtype=torch.float32, num_rows=len(UNARY))
    for index, (row, function) in enumerate(zip(rows.numpy(), UNARY, strict=True)):
        with np.errstate(all="ignore"):
            expected = function(x.astype(np.float64))
            unit = np.maximum(np.spacing(np.abs(expected.astype(np.float32))), 2.0**-149)
            error = np.abs(row - expected) / np.maximum(unit, 1e-15)
        usual = np.isfinite(expected) & (np.abs(expected) < 3e38)
        assert error[usual].max() <= 4, (index, x[usual][error[usual].argmax()])
        assert np.array_equal(np.isnan(row), np.isnan(expected)), index


def test_lengths_and_bessel_functions() -> None:
    a = np.concatenate([np.linspace(-80, 80, 801), np.array([713.0, -713.0, 1e3, -1e3, np.nan])])
    b = np.linspace(-3, 7, a.size)
    inputs = [torch.from_numpy(side) for side in (a, b)]
    rows = KERNELS.run("lengths", *inputs, dtype=torch.float64, num_rows=10).numpy()
    length = np.sqrt(a * a + b * b + 1 + 4 + 0.25)
    bessel = (scipy.special.i0(a), scipy.special.i1(a))
    single = a.astype(np.float32).astype(np.float64)
    of_single = (scipy.special.i0(single), scipy.special.i1(single))
    expected = [length, 1 / length, length, 1 / length, np.abs(a), np.hypot(np.hypot(a, b), 1)]
    for index, (row, want) in enumerate(zip(rows, [*expected, *bessel, *of_single], strict=True)):
        is_single = index in (2, 3, 8, 9)
        fits = np.abs(want) < 3e38 if is_single else np.isfinite(want)
        rtol = 1e-6 if is_single else 1e-13
        np.testing.assert_allclose(row[fits], want[fits], rtol=rtol, atol=0, err_msg=str(index))
        assert np.array_equal(np.isnan(row), np.isnan(want)), index
    assert rows[6, 803:805].tolist() == [np.inf, np.inf]
    assert rows[7, 803:805].tolist() == [np.inf, -np.inf]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_directed_arithmetic_rounds_the_exact_result(dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(0)
    scales = torch.randint(-20, 20, (3, 1500), generator=generator)
    a, b, c = torch.ldexp(torch.randn(3, 1500, generator=generator, dtype=dtype), scales)
    entry = "directed<float>" if dtype == torch.float32 else "directed<double>"
    rows = KERNELS.run(entry, a, b, c, dtype=dtype, num_rows=28)
    exact_operands = [[Fraction(v) for v in operand.tolist()] for operand in (a, b, c)]
    for index, name in enumerate(EXACT):
        exact = [EXACT[name](*triple) for triple in zip(*exact_operands, strict=True)]
        for row, mode in zip(rows[4 * index : 4 * index + 4], MODES, strict=True):
            assert_rounded(row, exact, mode)
    roots = [Fraction(v) for v in a.tolist()]
    for row, mode in zip(rows[24:], MODES, strict=True):
        assert_root(row, roots, mode)


def assert_rounded(row: torch.Tensor, exact: list[Fraction], mode: Mode) -> None:
    below, above = neighbours(row)
    for got, down, up, want in zip(row.tolist(), below, above, exact, strict=True):
        error = Fraction(got) - want
        if mode == "rn":
            assert (
                abs(error) <= min(Fraction(up) - Fraction(got), Fraction(got) - Fraction(down)) / 2
            )
        elif mode == "ru" or (mode == "rz" and want < 0):
            assert error >= 0
            assert Fraction(down) < want
        else:
            assert error <= 0
            assert Fraction(up) > want


def assert_root(row: torch.Tensor, squares: list[Fraction], mode: Mode) -> None:
    below, above = neighbours(row)
    for got, down, up, square in zip(row.tolist(), below, above, squares, strict=True):
        if square < 0:
            assert np.isnan(got)
        elif mode == "rn":
            low, high = (Fraction(got) + Fraction(other) for other in (down, up))
            assert low * low <= 4 * square <= high * high
        elif mode == "ru":
            assert Fraction(down) ** 2 < square <= Fraction(got) ** 2
        else:
            assert Fraction(got) ** 2 <= square < Fraction(up) ** 2


def neighbours(row: torch.Tensor) -> tuple[list[float], list[float]]:
    ends = (torch.full_like(row, -np.inf), torch.full_like(row, np.inf))
    below, above = (torch.nextafter(row, end).tolist() for end in ends)
    return below, above


def test_doubles_and_integers_become_floats_in_every_mode() -> None:
    generator = np.random.default_rng(0)
    doubles = generator.normal(size=1500) * 2.0 ** generator.integers(-30, 30, 1500)
    rows = KERNELS.run("to_float", torch.from_numpy(doubles), dtype=torch.float32, num_rows=4)
    for row, mode in zip(rows, MODES, strict=True):
        assert_rounded(row, [Fraction(v) for v in doubles.tolist()], mode)


@pytest.mark.parametrize("name", FLOAT_INTEGERS)
def test_integers_become_floats_in_every_mode(name: str) -> None:
    dtype = FLOAT_INTEGERS[name]
    bits = torch.iinfo(dtype).bits
    random = np.random.default_rng(1).integers(0, 1 << 63, 1500, dtype=np.uint64) * 2 + 1
    values = (
        random.astype(f"uint{bits}")
        >> np.arange(1500, dtype=np.uint64).astype(f"uint{bits}") % bits
    )
    tensor = torch.from_numpy(values).view(dtype)
    rows = KERNELS.run(f"from_integer<{name}>", tensor, dtype=torch.float32, num_rows=4)
    for row, mode in zip(rows, MODES, strict=True):
        assert_rounded(row, [Fraction(v) for v in tensor.numpy().tolist()], mode)


@pytest.mark.parametrize("entry", TO_INTEGERS)
def test_conversions_to_integers_saturate(entry: str) -> None:
    info = torch.iinfo(TO_INTEGERS[entry])
    numbers = [0.5, 1.5, 2.5, -0.5, -1.5, 0.0, 2.0**31, 2.0**32, 2.0**63, 2.0**64, -(2.0**31), 1e30]
    real = np.float32 if entry.startswith("float") else np.float64
    x = np.array([*numbers, -1e30, np.inf, -np.inf, *np.linspace(-300, 300, 997)], dtype=real)
    x = np.concatenate([x, np.nextafter(x[:12], real(0))])
    rows = KERNELS.run(entry, torch.from_numpy(x), dtype=TO_INTEGERS[entry], num_rows=4)
    for row, whole in zip(rows.numpy(), (np.rint, np.trunc, np.floor, np.ceil), strict=True):
        bounded = np.clip(whole(x.astype(np.float64)), -1e30, 1e30)
        assert row.tolist() == [min(max(int(v), info.min), info.max) for v in bounded]


def test_the_extrema_of_a_number_and_nan_are_the_number() -> None:
    values = torch.tensor([1.0, -2.0, float("nan"), float("inf"), -float("inf"), 0.0])
    a, b = (side.flatten().contiguous() for side in torch.meshgrid(values, values, indexing="ij"))
    rows = KERNELS.run("extrema", a, b, dtype=torch.float32, num_rows=5)
    low, high = torch.fmin(a, b), torch.fmax(a, b)
    for row, expected in zip(rows, (low, high, low, high, low), strict=True):
        assert torch.equal(row.nan_to_num(99.0), expected.nan_to_num(99.0))


def test_loads_and_stores_with_hints_move_whole_vectors() -> None:
    fours = torch.randn(400, generator=torch.Generator().manual_seed(0)).view(torch.complex128)
    rows = KERNELS.run("cached", fours, dtype=torch.complex128, num_rows=4)
    for row in rows:
        assert torch.equal(row.view(torch.float32), fours.view(torch.float32))


def test_a_misaligned_vector_load_names_itself_and_its_line() -> None:
    with pytest.raises(KernelRunError, match=r"__ldg of a misaligned address.*math\.cu:\d+"):
        KERNELS.run("misaligned", torch.zeros(8), dtype=torch.float32, num_rows=1)


@needs_nvrtc
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_the_kernels_compile_against_nvidias_headers(arch: str) -> None:
    assert compile_cubin(KERNELS.source, arch).image.startswith(b"\x7fELF")
