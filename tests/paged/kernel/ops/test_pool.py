"""What a pool stores: scaled, rounded once, saturating in fp8."""

from __future__ import annotations

import pytest
import torch

from paged.kernel.binding import bind
from paged.kernel.ops.pool import (
    choose_vector,
    element_bytes,
    integers,
    pairs_of,
    store_rows,
    to_real,
    to_stored,
)
from paged.kernel.ops.write_kv import OP

FP8 = torch.float8_e4m3fn


def test_fp8_saturates_at_448() -> None:
    x = torch.tensor([448.0, 463.0, 465.0, 1e6, -1e6, torch.inf, -torch.inf])
    stored = to_stored(x, None, FP8).float()
    assert stored.tolist() == [448, 448, 448, 448, -448, 448, -448]
    assert to_stored(torch.tensor([torch.nan]), None, FP8).float().isnan().all()


def test_a_scale_divides_on_the_way_in_and_multiplies_on_the_way_out() -> None:
    scale = torch.tensor(0.5)
    stored = to_stored(torch.tensor([3.0, 500.0]), scale, FP8)
    assert stored.float().tolist() == [6, 448]
    assert to_real(stored, scale).tolist() == [3, 224]
    assert to_real(stored, None).tolist() == [6, 448]


def test_without_a_scale_a_dtype_keeps_its_bits() -> None:
    nan_with_payload = torch.tensor([0x7FF1, 0x3C00], dtype=torch.int16).view(torch.float16)
    assert to_stored(nan_with_payload, None, torch.float16).view(torch.int16).tolist() == [
        0x7FF1,
        0x3C00,
    ]


@pytest.mark.parametrize("dtype", [torch.float16, FP8])
def test_rows_go_to_their_slots(dtype: torch.dtype) -> None:
    pool = torch.zeros((3, 2, 2, 1, 4, 2)).to(dtype)
    key = torch.arange(1, 9).view(4, 1, 2).half()
    slots = torch.tensor([5, -1, 12, 0, 3])
    store_rows(pool, (key, -key), slots, None, layer=1)
    expected = torch.zeros((3, 2, 2, 1, 4, 2))
    expected[1, 1, 0, 0, 1] = torch.tensor([1.0, 2.0])
    expected[0, 1, 0, 0, 0] = torch.tensor([7.0, 8.0])
    expected[:, :, 1] = -expected[:, :, 0]
    assert torch.equal(pool.float(), expected)


def test_each_layer_half_and_head_has_its_scale() -> None:
    pool = torch.zeros((1, 2, 2, 2, 1, 1))
    ones = torch.ones((1, 2, 1))
    scales = torch.tensor([1.0, 2, 4, 8, 16, 32, 64, 128]).view(2, 2, 2)
    store_rows(pool, (ones, ones), torch.tensor([0]), scales, layer=1)
    assert pool.flatten().tolist() == [0, 0, 0, 0, 1 / 16, 1 / 32, 1 / 64, 1 / 128]


def test_numbers_of_a_tensor() -> None:
    assert integers(torch.tensor([3, -1])) == [3, -1]
    assert pairs_of(torch.tensor([[1, 2], [3, 4]])) == [(1, 2), (3, 4)]
    assert pairs_of(torch.empty((0, 2), dtype=torch.int64)) == []


def test_bytes_of_a_call_and_the_default_variant() -> None:
    key = torch.zeros((2, 1, 8), dtype=torch.bfloat16)
    pool = torch.zeros((1, 1, 2, 1, 4, 8)).to(FP8)
    binding = bind(OP.signature, (key, key, pool, torch.tensor([0, 1]), None), {"layer": 0})
    assert element_bytes(binding, "key_t") == 2
    assert element_bytes(binding, "kv_t") == 1
    assert choose_vector(binding) == "vector"
