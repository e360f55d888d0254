"""Products with packed weights: exact where floats are, and each row as if it were alone."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from functools import partial

import pytest
import torch

from paged.kernel.backends.host_level import HostLevel
from paged.kernel.functional import linear
from paged.kernel.linear_weight import LinearWeight, WeightType
from tests.helpers.guarded import guarded, survives
from tests.helpers.host_levels import RUNNABLE, in_level, levels, randn
from tests.helpers.rounded_rows import rounded_rows

DTYPES: tuple[WeightType, ...] = ("bfloat16", "float32", "int8")
# Around a tile (8, 16 or 32 outputs), several of them, and the panel of 256 inputs.
SHAPES = ((1, 1), (7, 3), (8, 40), (17, 255), (31, 256), (33, 257), (64, 5), (70, 600), (129, 16))
# Every split into blocks (of up to 6 or 12 rows) of a step, around a group (24 to 60, or 48 to
# 120), and several of them.
NUM_ROWS = (*range(34), 47, 49, 60, 61, 70, 121, 130)

dtypes = pytest.mark.parametrize("dtype", DTYPES)


def integers(*shape: int, limit: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-limit, limit + 1, shape, generator=generator).float()


@levels
@dtypes
def test_products_of_integers_are_exact(level: HostLevel, dtype: WeightType) -> None:
    """Any order gives the same sum, so that each wrong index shows."""
    with in_level(level):
        for out_features, in_features in SHAPES:
            weight = integers(out_features, in_features, limit=9, seed=2)
            weight[:, 0] = 127  # so that the scale of int8 is 1
            bias = integers(out_features, limit=99, seed=3)
            packed = LinearWeight.plain(weight, bias).packed(dtype)
            unbiased = LinearWeight.plain(weight).packed(dtype)
            for num_rows in NUM_ROWS:
                x = integers(num_rows, in_features, limit=20, seed=4)
                expected = x.double() @ weight.double().T
                case = f"{num_rows} rows of {out_features} x {in_features}"
                assert torch.equal(linear(x, unbiased).double(), expected), case
                assert torch.equal(linear(x, packed).double(), expected + bias), case


@levels
@dtypes
def test_products_are_near_those_in_float64(level: HostLevel, dtype: WeightType) -> None:
    with in_level(level):
        x, weight, bias = randn(37, 1536), randn(83, 1536, seed=2), randn(83, seed=3)
        packed = LinearWeight.plain(weight, bias).packed(dtype)
        operand = rounded_rows(x) if dtype == "int8" else x.double()
        expected = operand @ packed.dequantized().double().T + bias
        # sums of 1536 terms of size 1, so of size 40
        torch.testing.assert_close(linear(x, packed).double(), expected, rtol=0, atol=1e-3)
        assert (linear(x, packed).double() - expected).square().mean().sqrt() < 1e-4


@levels
@dtypes
def test_a_row_does_not_depend_on_the_number_of_rows(level: HostLevel, dtype: WeightType) -> None:
    with in_level(level):
        x = randn(130, 600)
        packed = LinearWeight.plain(randn(83, 600, seed=2), randn(83, seed=3)).packed(dtype)
        together = linear(x, packed)
        for num_rows in NUM_ROWS:
            assert torch.equal(linear(x[:num_rows], packed), together[:num_rows]), num_rows
            last = x[130 - num_rows :].clone()
            assert torch.equal(linear(last, packed), together[130 - num_rows :]), num_rows


@levels
@dtypes
@pytest.mark.parametrize("num_rows", [1, 2, 5, 70])
def test_nothing_depends_on_the_number_of_threads(
    level: HostLevel, dtype: WeightType, num_rows: int
) -> None:
    x = randn(num_rows, 600)
    with in_level(level, num_threads=1):
        packed = LinearWeight.plain(randn(700, 600, seed=2)).packed(dtype)
        expected = linear(x, packed)
    for num_threads in (2, 3, 8):
        with in_level(level, num_threads):
            assert torch.equal(linear(x, packed), expected), num_threads


@levels
@dtypes
def test_other_rows_do_not_taint_a_row(level: HostLevel, dtype: WeightType) -> None:
    with in_level(level):
        x = randn(20, 100)
        packed = LinearWeight.plain(randn(50, 100, seed=2)).packed(dtype)
        expected = linear(x, packed)
        x[7] = torch.nan
        got = linear(x, packed)
        assert got[7].isnan().all()
        assert torch.equal(got[:7], expected[:7])
        assert torch.equal(got[8:], expected[8:])


def int8_weight(out_features: int, in_features: int) -> LinearWeight:
    return LinearWeight.plain(randn(out_features, in_features, seed=2)).packed("int8")


def assert_near_rounded(x: torch.Tensor, packed: LinearWeight) -> None:
    """Fail where a product is off by more than a chain of float sums over panels can be."""
    rows, weight = rounded_rows(x), packed.dequantized().double().T
    bound = (rows.abs() @ weight.abs()) * (2 + x.shape[1] / 256) * torch.finfo(torch.float32).eps
    error = (linear(x, packed).double() - rows @ weight).abs()
    assert (error <= bound).all(), f"{error.max()} of {tuple(x.shape)}"


@levels
@pytest.mark.parametrize("in_features", [1, 2, 255, 256, 257, 511, 513, 1536, 14336, 14339])
def test_int8_is_exact_but_for_what_it_rounds_to_16_bits(
    level: HostLevel, in_features: int
) -> None:
    with in_level(level):
        packed = int8_weight(19, in_features)
        for num_rows in (1, 2, 5, 6, 7):
            assert_near_rounded(randn(num_rows, in_features), packed)


@levels
def test_the_largest_integers_of_a_panel_fit_a_sum(level: HostLevel) -> None:
    with in_level(level):
        weight = torch.full((19, 512), 127.0)
        weight[1::2] = -127.0
        packed = LinearWeight.plain(weight).packed("int8")
        largest = torch.full((3, 512), 2.0 - 2**-14)
        x = torch.cat([largest, -largest, largest * 2**-20])
        assert torch.equal(linear(x, packed).double(), x.double() @ weight.double().T)


@levels
def test_int8_of_extreme_rows(level: HostLevel) -> None:
    """Zeros, an outlier, numbers at both ends of the range of a float."""
    with in_level(level):
        packed, x = int8_weight(19, 600), randn(8, 600)
        x[0] = 0
        x[1] = -0.0
        x[2, 300] = 3e4
        x[3] *= 1e30
        x[4] *= 1e-30
        x[5] *= 1e-36
        x[6] = 2**-149
        x[7, :256] = 0
        assert_near_rounded(x, packed)
        assert not linear(x[:2], packed).any()
        assert not linear(x[6:7], packed).any()


@levels
@pytest.mark.parametrize("value", [torch.nan, -torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("place", [0, 255, 256, 599])
def test_int8_of_a_row_that_is_not_finite_is_nan(
    level: HostLevel, value: float, place: int
) -> None:
    with in_level(level):
        packed, x = int8_weight(50, 600), randn(20, 600)
        expected = linear(x, packed)
        x[7, place] = value
        got = linear(x, packed)
        assert got[7].isnan().all()
        assert torch.equal(got[:7], expected[:7])
        assert torch.equal(got[8:], expected[8:])


def test_int8_is_the_same_at_every_level() -> None:
    x = randn(7, 600)
    results: list[torch.Tensor] = []
    for level in RUNNABLE:
        with in_level(level):
            results.append(linear(x, int8_weight(50, 600)))
    assert all(torch.equal(result, results[0]) for result in results)


@levels
@dtypes
def test_nothing_past_an_operand_is_touched(level: HostLevel, dtype: WeightType) -> None:
    """Each operand ends at a page that may not be touched."""
    with in_level(level):
        for num_rows, out_features, in_features in ((1, 70, 257), (5, 17, 600), (70, 33, 257)):
            whole = LinearWeight.plain(randn(out_features, in_features), randn(out_features))
            packed = whole.packed(dtype)
            ends = replace(
                packed,
                data=guarded(packed.data),
                bias=None if packed.bias is None else guarded(packed.bias),
                scales=None if packed.scales is None else guarded(packed.scales),
            )
            x = guarded(randn(num_rows, in_features))
            assert survives(partial(linear, x, ends))


def test_a_guarded_operand_that_is_passed_kills() -> None:
    short = guarded(torch.zeros(10))
    assert survives(partial(ctypes.string_at, short.data_ptr(), short.nbytes))
    assert not survives(partial(ctypes.string_at, short.data_ptr(), short.nbytes + 1))
