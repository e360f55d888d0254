"""Norms, activations and embeddings of the host backend against float64."""

from __future__ import annotations

from functools import partial

import pytest
import torch

from paged.errors import OperandError
from paged.kernel.backends.host_level import HostLevel
from paged.kernel.functional import add_rms_norm, embedding, rms_norm, silu_mul
from paged.kernel.linear_weight import LinearWeight, WeightType
from tests.helpers.guarded import guarded, survives
from tests.helpers.host_levels import in_level, levels, randn

EPS = 1e-5
NUM_COLUMNS = (1, 3, 8, 31, 64, 65, 576, 1000)
EPSILON = torch.finfo(torch.float32).eps


def exact_norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    exact = x.double()
    return exact / (exact.square().mean(-1, keepdim=True) + EPS).sqrt() * weight.double()


@levels
@pytest.mark.parametrize("num_columns", NUM_COLUMNS)
def test_a_norm_is_near_that_in_float64(level: HostLevel, num_columns: int) -> None:
    weight = randn(num_columns, seed=2)
    with in_level(level):
        for shape in ((0, num_columns), (1, num_columns), (50, num_columns), (3, 5, num_columns)):
            x = randn(*shape) * 3
            got = rms_norm(x, weight, EPS)
            torch.testing.assert_close(
                got.double(), exact_norm(x, weight), rtol=8 * EPSILON, atol=0
            )


@levels
@pytest.mark.parametrize("num_columns", NUM_COLUMNS)
def test_a_sum_is_normalized_as_it_would_be_alone(level: HostLevel, num_columns: int) -> None:
    x, residual, weight = randn(50, num_columns), randn(50, num_columns, seed=2), randn(num_columns)
    before = x.clone(), residual.clone()
    with in_level(level):
        normed, total = add_rms_norm(x, residual, weight, EPS)
        assert torch.equal(total, x + residual)
        assert torch.equal(normed, rms_norm(total, weight, EPS))
    assert torch.equal(x, before[0])
    assert torch.equal(residual, before[1])


@levels
def test_silu_is_right_to_two_units_in_the_last_place(level: HostLevel) -> None:
    gates = torch.linspace(-87, 100, 200_001)
    gate_up = torch.stack([gates, torch.ones_like(gates)], dim=-1).T.reshape(1, -1).contiguous()
    expected = gates.double() * torch.sigmoid(gates.double())
    with in_level(level):
        got = silu_mul(gate_up)[0].double()
    error = (got - expected).abs() / expected.abs().clamp(min=torch.finfo(torch.float32).tiny)
    assert error.max() < 1.7 * EPSILON


@levels
def test_silu_of_unusual_numbers_is_torchs(level: HostLevel) -> None:
    gates = torch.tensor([0.0, -0.0, torch.inf, -torch.inf, torch.nan, -1e30, 1e30, -95.0, 1e-40])
    gate_up = torch.cat([gates, torch.full_like(gates, 2.0)])[None]
    with in_level(level):
        got = silu_mul(gate_up)[0]
    expected = torch.nn.functional.silu(gates.double()) * 2
    torch.testing.assert_close(got.double(), expected, rtol=1e-6, atol=1e-38, equal_nan=True)


@levels
@pytest.mark.parametrize("num_columns", NUM_COLUMNS)
def test_silu_multiplies_its_other_half(level: HostLevel, num_columns: int) -> None:
    gate_up = randn(33, 2 * num_columns) * 4
    gate, up = gate_up.double().split(num_columns, dim=-1)
    with in_level(level):
        got = silu_mul(gate_up).double()
    torch.testing.assert_close(got, gate * torch.sigmoid(gate) * up, rtol=8 * EPSILON, atol=0)


@levels
def test_a_row_depends_on_neither_rows_nor_threads(level: HostLevel) -> None:
    x, residual, weight = randn(700, 576), randn(700, 576, seed=2), randn(576, seed=3)
    with in_level(level, num_threads=1):
        expected = (*add_rms_norm(x, residual, weight, EPS), silu_mul(x))
    for num_threads in (1, 2, 5):
        with in_level(level, num_threads):
            for num_rows in (1, 5, 700):
                rows = x[:num_rows]
                got = (*add_rms_norm(rows, residual[:num_rows], weight, EPS), silu_mul(rows))
                for one, whole in zip(got, expected, strict=True):
                    assert torch.equal(one, whole[:num_rows])


@levels
@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "int8"])
def test_an_embedding_is_a_row_of_the_weight(level: HostLevel, dtype: WeightType) -> None:
    with in_level(level):
        packed = LinearWeight.plain(randn(83, 65)).packed(dtype)
        tokens = torch.tensor([82, 0, 82, 41, *range(83)])
        expected = packed.dequantized()[tokens]
        assert torch.equal(embedding(tokens, packed, torch.float32), expected)
        assert torch.equal(embedding(tokens.int(), packed, torch.float32), expected)
        assert embedding(tokens[:0], packed, torch.float32).shape == (0, 65)


@levels
@pytest.mark.parametrize("token", [-1, 83, 2**40, -(2**40)])
def test_a_token_that_is_no_row_is_refused(level: HostLevel, token: int) -> None:
    with in_level(level):
        packed = LinearWeight.plain(randn(83, 65)).packed("bfloat16")
        message = f"at least 0 and below 83, got 1 that are not, between {min(token, 0)} and"
        with pytest.raises(OperandError, match=message):
            embedding(torch.tensor([0, token]), packed, torch.float32)


@levels
def test_nothing_past_an_operand_is_touched(level: HostLevel) -> None:
    with in_level(level):
        for num_columns in (1, 65, 576):
            x, residual = guarded(randn(3, num_columns)), guarded(randn(3, num_columns))
            weight = guarded(randn(num_columns))
            assert survives(partial(add_rms_norm, x, residual, weight, EPS))
            assert survives(partial(silu_mul, guarded(randn(3, 2 * num_columns))))
