"""half and bfloat16 in the interpreter: every code, every rounding mode, every intrinsic."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from paged.kernel.nvrtc import compile_cubin
from tests.helpers.cuda_sources import needs_nvrtc
from tests.helpers.elementwise import Elementwise
from tests.helpers.number_formats import (
    BFLOAT16,
    HALF,
    MODES,
    Codes,
    NumberFormat,
    codes_of,
    fma_to_odd,
    integers_to_odd,
)

INTEGERS = {
    "short": torch.int16,
    "ushort": torch.uint16,
    "int": torch.int32,
    "uint": torch.uint32,
    "ll": torch.int64,
    "ull": torch.uint64,
}
BINARY = (
    *("add", "sub", "mul", "div", "add", "sub", "mul", "add_sat", "sub_sat", "mul_sat"),
    *("max", "min", "max_nan", "min_nan", "add", "sub", "mul", "div"),
)
RELATIONS = (np.equal, np.not_equal, np.less_equal, np.greater_equal, np.less, np.greater)
FUNCTIONS = (
    *(np.exp, np.exp2, lambda x: np.power(10.0, x), np.log, np.log2, np.log10),
    *(np.sin, np.cos, np.tanh, lambda x: 1 / np.sqrt(x)),
)


@dataclass(frozen=True)
class Under:
    """A format with its kernels."""

    format: NumberFormat
    kernels: Elementwise


ENTRIES = (
    *("widen", "narrow", "narrow_double", "binary", "binary_pairs", "fused", "fused_pairs"),
    *("compare", "compare_pairs", "unary", "functions", "packing"),
    *(f"{direction}_{name}" for direction in ("from", "to") for name in INTEGERS),
)
FORMATS = {
    name: Under(
        number_format,
        Elementwise(file="small_float.cu", entries=ENTRIES, defines=((f"FORMAT_{name}", "1"),)),
    )
    for name, number_format in (("HALF", HALF), ("BFLOAT16", BFLOAT16))
}


@pytest.fixture(params=FORMATS)
def under(request: pytest.FixtureRequest) -> Under:
    return FORMATS[request.param]


def test_every_code_widens_to_its_number(under: Under) -> None:
    codes = under.format.all_codes
    by_function, by_cast, is_true = under.kernels.run(
        "widen", codes, dtype=torch.float32, num_rows=3
    )
    wide = codes.to(torch.float32)
    assert torch.equal(by_function.isnan(), wide.isnan())
    numbers = ~wide.isnan()
    assert torch.equal(bits(by_function[numbers]), bits(wide[numbers]))
    assert torch.equal(bits(by_cast), bits(by_function))
    assert torch.equal(is_true, (wide != 0).to(torch.float32))


def bits(floats: torch.Tensor) -> torch.Tensor:
    return floats.view(torch.int32)


def test_floats_round_once_in_every_mode(under: Under) -> None:
    floats = under.format.hard_floats(200_000)
    rows = under.kernels.run(
        "narrow", torch.from_numpy(floats), dtype=under.format.dtype, num_rows=7
    )
    for row, mode in zip(rows, (*MODES, "rn", "rn", "rn"), strict=True):
        assert_codes(codes_of(row), under.format.round(floats.astype(np.float64), mode), floats)


def test_rounding_to_nearest_is_torchs(under: Under) -> None:
    floats = under.format.hard_floats(200_000)
    numbers = floats[~np.isnan(floats)]
    expected = torch.from_numpy(numbers).to(under.format.dtype)
    assert_codes(under.format.round(numbers.astype(np.float64)), codes_of(expected), numbers)


def test_doubles_round_once(under: Under) -> None:
    floats = under.format.hard_floats(1000).astype(np.float64)
    with np.errstate(over="ignore"):
        near = np.concatenate([floats, np.nextafter(floats, 0), np.nextafter(floats, np.inf)])
    rows = under.kernels.run(
        "narrow_double", torch.from_numpy(near), dtype=under.format.dtype, num_rows=2
    )
    for row in rows:
        assert_codes(codes_of(row), under.format.round(near), near)


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_round_in_every_mode(under: Under, name: str) -> None:
    info = torch.iinfo(INTEGERS[name])
    generator = np.random.default_rng(1)
    bits = generator.integers(0, 1 << 63, 50_000, dtype=np.uint64) * 2
    shifted = bits >> generator.integers(64 - info.bits, 64, bits.size).astype(np.uint64)
    tensor = torch.from_numpy(shifted).view(torch.int64).to(INTEGERS[name])
    exact: list[int] = tensor.numpy().tolist()
    rows = under.kernels.run(f"from_{name}", tensor, dtype=under.format.dtype, num_rows=5)
    for row, mode in zip(rows, (*MODES, "rn"), strict=True):
        assert_codes(codes_of(row), under.format.round(integers_to_odd(exact), mode), exact)


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_saturate_and_nan_is_zero_or_the_lowest(under: Under, name: str) -> None:
    info = torch.iinfo(INTEGERS[name])
    rows = under.kernels.run(f"to_{name}", under.format.all_codes, dtype=INTEGERS[name], num_rows=5)
    values = under.format.values
    whole = {"rn": np.rint, "rz": np.trunc, "rd": np.floor, "ru": np.ceil}
    nan = 0 if info.bits < 64 else 1 << 63 if info.min == 0 else -1 << 63
    for row, mode in zip(rows, (*MODES, "rz"), strict=True):
        bounded = whole[mode](np.clip(values, -1e30, 1e30))
        expected = [nan if np.isnan(v) else clamp(int(v), info) for v in bounded]
        assert row.tolist() == expected, mode


def clamp(value: int, info: torch.iinfo) -> int:
    return min(max(value, info.min), info.max)


def random_operands(under: Under, count: int, seed: int) -> torch.Tensor:
    """Return codes of all sorts, half of them within a few binades of one."""
    generator = np.random.default_rng(seed)
    anything = generator.integers(0, 1 << 16, count // 2)
    near = codes_of(torch.from_numpy(generator.normal(size=count // 2)).to(under.format.dtype))
    codes = generator.permutation(np.concatenate([anything, near])).astype(np.uint16)
    return torch.from_numpy(codes.view(np.int16)).view(under.format.dtype)


def test_binary_functions_are_rounded_once(under: Under) -> None:
    a, b = (random_operands(under, 100_000, seed) for seed in (2, 3))
    special = torch.tensor([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0], dtype=a.dtype)
    a[:49], b[:49] = special.repeat(7), special.repeat_interleave(7)
    rows = under.kernels.run("binary", a, b, dtype=under.format.dtype, num_rows=len(BINARY))
    for row, name in zip(rows, BINARY, strict=True):
        assert_codes(codes_of(row), expected_binary(under.format, name, a, b), name)


def expected_binary(
    number_format: NumberFormat, name: str, a: torch.Tensor, b: torch.Tensor
) -> Codes:
    x, y = (operand.to(torch.float64).numpy() for operand in (a, b))
    base, _, ending = name.partition("_")
    with np.errstate(all="ignore"):
        if base in ("max", "min"):
            return expected_extremum(number_format, base, ending == "nan", a, b)
        results = {"add": x + y, "sub": x - y, "mul": x * y, "div": x / y}[base]
    codes = number_format.round(results)
    return saturated(number_format, codes) if ending == "sat" else codes


def expected_extremum(
    number_format: NumberFormat, base: str, keeps_nan: bool, a: torch.Tensor, b: torch.Tensor
) -> Codes:
    codes = np.stack([codes_of(a), codes_of(b)])
    values = number_format.values[codes]
    is_nan = np.isnan(values)
    magnitude = codes & (number_format.sign_bit - 1)
    order = np.where(codes & number_format.sign_bit, -magnitude - 1, magnitude)  # -0 below +0
    order = np.where(is_nan, -np.inf if base == "max" else np.inf, order)
    best = np.argmax(order, axis=0) if base == "max" else np.argmin(order, axis=0)
    chosen = np.take_along_axis(codes, best[None], axis=0)[0]
    nothing = is_nan.any(axis=0) if keeps_nan else is_nan.all(axis=0)
    return np.where(nothing, number_format.nan_code, chosen)


def saturated(number_format: NumberFormat, codes: Codes) -> Codes:
    values = number_format.values[codes]
    one = int(number_format.round(np.array([1.0]))[0])
    return np.where(values >= 1, one, np.where(values > 0, codes, 0))


def test_fused_functions_are_rounded_once(under: Under) -> None:
    a, b, c = (random_operands(under, 6000, seed) for seed in (4, 5, 6))
    c = torch.where(torch.arange(6000) % 3 == 0, -a * b, c)  # cancellation
    plain, sat, relu = under.kernels.run("fused", a, b, c, dtype=under.format.dtype, num_rows=3)
    triples = zip(*(operand.double().tolist() for operand in (a, b, c)), strict=True)
    expected = under.format.round(np.array([fma_to_odd(*triple) for triple in triples]))
    assert_codes(codes_of(plain), expected, "fma")
    assert_codes(codes_of(sat), saturated(under.format, expected), "fma_sat")
    values = under.format.values[expected]
    assert_codes(codes_of(relu), np.where(values <= 0, 0, expected), "fma_relu")


def test_pairs_do_in_each_lane_what_scalars_do(under: Under) -> None:
    a, b, c = (random_operands(under, 20_000, seed) for seed in (7, 8, 9))
    for entry, operands, num_rows in (("binary", (a, b), 18), ("fused", (a, b, c), 3)):
        scalar = under.kernels.run(entry, *operands, dtype=under.format.dtype, num_rows=num_rows)
        halves = (operand.view(torch.int32) for operand in operands)
        pairs = under.kernels.run(f"{entry}_pairs", *halves, dtype=torch.int32, num_rows=num_rows)
        assert torch.equal(pairs.view(torch.int16), scalar.view(torch.int16)), entry


def test_relations_are_false_or_true_of_nan(under: Under) -> None:
    a, b = (random_operands(under, 50_000, seed) for seed in (10, 11))
    a = torch.where(torch.arange(50_000) % 4 == 0, b, a)
    rows = under.kernels.run("compare", a, b, dtype=torch.uint8, num_rows=18).numpy()
    x, y = a.float().numpy(), b.float().numpy()
    unordered = np.isnan(x) | np.isnan(y)
    for index, relation in enumerate(RELATIONS):
        plain, loose, operator = rows[3 * index : 3 * index + 3].astype(bool)
        assert np.array_equal(plain, relation(x, y) & ~unordered), relation
        assert np.array_equal(loose, relation(x, y) | unordered), relation
        assert np.array_equal(operator, relation(x, y)), relation


def test_relations_of_pairs_are_those_of_their_lanes(under: Under) -> None:
    a, b = (random_operands(under, 20_000, seed) for seed in (12, 13))
    a = torch.where(torch.arange(20_000) % 3 == 0, b, a)
    lanes = under.kernels.run("compare", a, b, dtype=torch.uint8, num_rows=18)
    lanes = lanes.reshape(6, 3, -1, 2)[:, :2].reshape(12, -1, 2).long()
    halves = (operand.view(torch.int32) for operand in (a, b))
    rows = under.kernels.run("compare_pairs", *halves, dtype=torch.uint32, num_rows=48)
    low, high, mask, both = rows.to(torch.int64).reshape(12, 4, -1).unbind(1)
    assert torch.equal(low, lanes[..., 0])
    assert torch.equal(high, lanes[..., 1])
    assert torch.equal(mask, lanes[..., 0] * 0xFFFF + lanes[..., 1] * 0xFFFF0000)
    assert torch.equal(both, lanes[..., 0] * lanes[..., 1])


def test_signs_steps_and_whole_numbers(under: Under) -> None:
    codes = codes_of(under.format.all_codes)
    rows = under.kernels.run("unary", under.format.all_codes, dtype=under.format.dtype, num_rows=12)
    x = under.format.values
    with np.errstate(all="ignore"):
        numbers = (x + 1, x - 1, np.sqrt(x), 1 / x)
    numbers += (np.floor(x), np.ceil(x), np.trunc(x), np.rint(x))
    flipped = codes ^ 0x8000
    expected = (codes & 0x7FFF, flipped, flipped, codes, *map(under.format.round, numbers))
    for index, (row, wanted) in enumerate(zip(rows, expected, strict=True)):
        assert_codes(codes_of(row), wanted, index)


def test_functions_are_within_one_code_of_the_exact_ones(under: Under) -> None:
    rows = under.kernels.run(
        "functions", under.format.all_codes, dtype=under.format.dtype, num_rows=20
    )
    for index, function in enumerate(FUNCTIONS):
        with np.errstate(all="ignore"):
            wanted = under.format.round(function(under.format.values))
        got = codes_of(rows[index])
        assert np.abs(got - wanted).max() <= 1, index
        assert np.mean(got != wanted) < 0.001, index
        assert np.array_equal(got, codes_of(rows[10 + index])), index


def test_packing_keeps_every_bit(under: Under) -> None:
    rows = under.kernels.run("packing", under.format.all_codes, dtype=torch.uint32, num_rows=1)
    assert set(rows[0, :-1].tolist()) == {0xFFFF}


@needs_nvrtc
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_the_kernels_compile_against_nvidias_headers(under: Under, arch: str) -> None:
    assert compile_cubin(under.kernels.source, arch).image.startswith(b"\x7fELF")


def assert_codes(got: Codes, expected: Codes, inputs: object) -> None:
    wrong = np.flatnonzero(got != expected)
    if wrong.size:
        first = wrong[0]
        what = inputs[first] if isinstance(inputs, (list, np.ndarray)) else inputs
        pytest.fail(
            f"{wrong.size} of {got.size} differ, first [{first}] of {what}: "
            f"got {got[first]:#06x}, expected {expected[first]:#06x}"
        )
