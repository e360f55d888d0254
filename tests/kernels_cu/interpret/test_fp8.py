"""8-bit floating point in the interpreter: every code, ties, saturation, NaN."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from paged.kernel.nvrtc import compile_cubin
from tests.helpers.cuda_sources import needs_nvrtc
from tests.helpers.elementwise import Elementwise
from tests.helpers.number_formats import E4M3, E5M2, Codes, NumberFormat, codes_of

FORMATS = {"E4M3": E4M3, "E5M2": E5M2}
SOURCES = {
    **{"narrow": torch.float32, "narrow_double": torch.float64},
    **{"narrow_half": torch.float16, "narrow_bfloat16": torch.bfloat16},
}
ENTRIES = ("widen", "integers", "vectors", *SOURCES)

Under = tuple[NumberFormat, Elementwise]


@pytest.fixture(params=FORMATS)
def under(request: pytest.FixtureRequest) -> Under:
    defines = ((f"FORMAT_{request.param}", "1"),)
    return FORMATS[request.param], Elementwise(file="fp8.cu", entries=ENTRIES, defines=defines)


def test_every_code_widens_to_its_number(under: Under) -> None:
    number_format, kernels = under
    expected = number_format.all_codes.to(torch.float32)
    for row in kernels.run("widen", number_format.all_codes, dtype=torch.float32, num_rows=5):
        assert torch.equal(row.isnan(), expected.isnan())
        numbers = ~expected.isnan()
        assert torch.equal(row[numbers].view(torch.int32), expected[numbers].view(torch.int32))


@pytest.mark.parametrize("entry", SOURCES)
def test_numbers_round_once_and_overflow_as_told(under: Under, entry: str) -> None:
    number_format, kernels = under
    floats = torch.from_numpy(number_format.hard_floats(100_000)).to(SOURCES[entry])
    if entry == "narrow_double":
        values = floats.numpy()
        floats = torch.from_numpy(np.concatenate([values, np.nextafter(values, 0)]))
    rows = kernels.run(entry, floats, dtype=torch.uint8, num_rows=3)
    constructed, saturating, plain = (codes_of(row) for row in rows)
    numbers = floats.to(torch.float64).numpy()
    assert_codes(plain, number_format.round(numbers), numbers)
    assert_codes(saturating, number_format.round(numbers, saturate=True), numbers)
    assert_codes(constructed, saturating, numbers)


def test_within_range_torch_rounds_alike(under: Under) -> None:
    number_format, _ = under
    floats = torch.from_numpy(number_format.hard_floats(100_000))
    floats = floats[floats.abs() <= number_format.magnitudes[-2]]
    expected = codes_of(floats.to(number_format.dtype))
    rounded = number_format.round(floats.to(torch.float64).numpy())
    assert_codes(rounded, expected, floats.numpy())


def test_integers_truncate_and_saturate(under: Under) -> None:
    number_format, kernels = under
    rows = kernels.run("integers", number_format.all_codes, dtype=torch.int32, num_rows=6)
    whole, byte, unsigned, from_int, from_ull, is_true = (row.numpy() for row in rows)
    values = number_format.values
    finite = np.trunc(np.where(np.isnan(values), 0, np.clip(values, -(2.0**31), 2.0**31 - 1)))
    assert np.array_equal(whole, finite.astype(np.int64))
    assert np.array_equal(byte, np.clip(whole, -128, 127))
    assert np.array_equal(unsigned, np.clip(whole, 0, 65535))
    assert_codes(from_int, number_format.round(finite + 0.0, saturate=True), whole)
    wrapped = np.where(finite < 0, finite + 2.0**64, finite)
    assert_codes(from_ull, number_format.round(wrapped + 0.0, saturate=True), whole)
    assert np.array_equal(is_true, values != 0)


def test_pairs_and_quadruples_are_made_of_scalars(under: Under) -> None:
    number_format, kernels = under
    floats = number_format.hard_floats(4000)
    count = floats.size // 4 * 4
    fours = torch.from_numpy(floats[:count]).view(torch.complex128)  # 16 bytes an element
    rows = kernels.run("vectors", fours, dtype=torch.uint32, num_rows=1)
    assert set(rows[0].tolist()) == {(1 << 17) - 1}


@needs_nvrtc
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_the_kernels_compile_against_nvidias_headers(under: Under, arch: str) -> None:
    assert compile_cubin(under[1].source, arch).image.startswith(b"\x7fELF")


def assert_codes(got: Codes, expected: Codes, inputs: np.ndarray) -> None:
    wrong = np.flatnonzero(got != expected)
    if wrong.size:
        first = wrong[0]
        pytest.fail(
            f"{wrong.size} of {got.size} differ, first {inputs[first]}: "
            f"got {got[first]:#04x}, expected {expected[first]:#04x}"
        )
