"""Weights of linear layers, plain and packed."""

from __future__ import annotations

import copy

import pytest
import torch

from paged.errors import OperandError
from paged.kernel import linear_weight
from paged.kernel.backends.host_level import HostLevel
from paged.kernel.functional import linear
from paged.kernel.linear_weight import LinearWeight, WeightType
from tests.helpers.host_levels import in_level, levels, randn


def test_a_weight_must_be_a_matrix_of_floats() -> None:
    with pytest.raises(OperandError, match="must be \\[out_features, in_features\\] of floats"):
        LinearWeight.plain(torch.zeros(3, 4, 5))


def test_a_bias_must_have_the_weights_rows() -> None:
    with pytest.raises(OperandError, match="must have shape \\(3,\\), got \\(4,\\)"):
        LinearWeight.plain(torch.zeros(3, 4), torch.zeros(4))


@levels
@pytest.mark.parametrize("source", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_packing_rounds_to_the_type_and_no_further(
    level: HostLevel, source: torch.dtype, dtype: WeightType
) -> None:
    with in_level(level):
        for out_features in (1, 16, 37):
            weight = randn(out_features, 21).to(source)
            packed = LinearWeight.plain(weight).packed(dtype)
            assert packed.is_packed
            assert (packed.out_features, packed.in_features) == weight.shape
            expected = weight.to(getattr(torch, dtype)).float()
            assert torch.equal(packed.dequantized(), expected)


@levels
def test_int8_is_within_half_a_step_of_each_rows_own_scale(level: HostLevel) -> None:
    weight = randn(37, 50) * torch.logspace(-6, 6, 37)[:, None]
    weight[5] = 0
    with in_level(level):
        packed = LinearWeight.plain(weight).packed("int8")
    steps = weight.abs().amax(dim=1, keepdim=True) / 127
    error = (packed.dequantized() - weight).abs()
    assert (error <= steps * 0.5001).all()
    assert packed.data.dtype == torch.int8
    assert packed.data.abs().max() == 127
    assert not packed.dequantized()[5].any()


@pytest.mark.parametrize("num_values", [1, 60, 149, 150])
def test_int8_of_a_row_is_its_own_wherever_a_chunk_ends(
    monkeypatch: pytest.MonkeyPatch, num_values: int
) -> None:
    weight = randn(37, 50)
    expected = LinearWeight.plain(weight).packed("int8").dequantized()
    monkeypatch.setattr(linear_weight, "_CHUNK_VALUES", num_values)
    assert torch.equal(LinearWeight.plain(weight).packed("int8").dequantized(), expected)


@levels
@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "int8"])
@pytest.mark.parametrize("num_rows", [32, 37])
def test_packed_values_lie_where_they_are_placed(
    level: HostLevel, dtype: WeightType, num_rows: int
) -> None:
    memory = torch.zeros(1 << 14, dtype=torch.uint8)

    def place(values: torch.Tensor) -> torch.Tensor:
        return memory[: values.nbytes].view(values.dtype).view(values.shape).copy_(values)

    with in_level(level):
        plain = LinearWeight.plain(randn(num_rows, 64))
        packed = plain.packed(dtype, place=place)
        assert packed.data.data_ptr() == memory.data_ptr()
        assert packed.data.shape == plain.packed(dtype).data.shape
        assert torch.equal(packed.dequantized(), plain.packed(dtype).dequantized())


@levels
@pytest.mark.parametrize("shape", [(16, 1), (8, 1), (32, 4)])
def test_a_packed_weight_shares_no_memory_with_the_plain_one(
    level: HostLevel, shape: tuple[int, int]
) -> None:
    weight = randn(*shape)
    with in_level(level):
        packed = LinearWeight.plain(weight).packed("float32")
    expected = weight.clone()
    weight.zero_()
    assert torch.equal(packed.dequantized(), expected)


def test_a_packed_weight_has_the_bytes_of_its_type() -> None:
    plain = LinearWeight.plain(randn(320, 100), randn(320))
    assert plain.packed("bfloat16").num_bytes == 320 * 100 * 2 + 320 * 4
    assert plain.packed("int8").num_bytes == 320 * 100 + 2 * 320 * 4


def test_int8_has_inputs_of_an_even_number_in_memory_alone() -> None:
    plain = LinearWeight.plain(randn(320, 99))
    packed = plain.packed("int8")
    assert packed.num_bytes == 320 * 100 + 320 * 4
    assert packed.in_features == 99
    assert packed.dequantized().shape == (320, 99)


def test_a_weight_is_packed_once_and_on_the_cpu() -> None:
    plain = LinearWeight.plain(randn(3, 4))
    with pytest.raises(OperandError, match="this one is packed"):
        plain.packed("int8").packed("int8")
    with pytest.raises(OperandError, match="this one is on meta"):
        LinearWeight.plain(torch.zeros(3, 4, device="meta")).packed("int8")


def test_a_copy_stands_alone() -> None:
    packed = LinearWeight.plain(randn(30, 40), randn(30)).packed("int8")
    x = randn(2, 40)
    expected = linear(x, packed)
    copied = copy.deepcopy(packed)
    packed.data.zero_()
    assert torch.equal(linear(x, copied), expected)


@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "int8"])
def test_without_the_host_backend_packed_weights_are_plain_with_the_same_values(
    monkeypatch: pytest.MonkeyPatch, dtype: WeightType
) -> None:
    plain = LinearWeight.plain(randn(30, 40), randn(30))
    with_host = plain.packed(dtype)
    monkeypatch.setattr(linear_weight, "find_host", lambda _config: None)  # type: ignore[misc]
    without = plain.packed(dtype)
    assert not without.is_packed
    assert torch.equal(without.dequantized(), with_host.dequantized())
    # with the host backend int8 rounds x, by up to 2^-15 of the largest
    atol = 1e-2 if dtype == "int8" else 1e-4
    torch.testing.assert_close(
        linear(randn(3, 40), without), linear(randn(3, 40), with_host), rtol=1e-5, atol=atol
    )
