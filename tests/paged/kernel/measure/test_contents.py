"""Contents are from a seed: normal numbers, slices of one projection, angles."""

from __future__ import annotations

import torch

from paged.kernel.measure.contents import projected, random_tensor, rotary_table
from tests.helpers.measured import CPU


def test_numbers_of_eight_bits_are_made() -> None:
    numbers = random_tensor((1000,), "float8_e4m3fn", torch.Generator().manual_seed(1))
    assert numbers.dtype == torch.float8_e4m3fn
    assert 0.8 < float(numbers.float().std()) < 1.2


def test_projections_lie_side_by_side() -> None:
    query, key = projected(5, (3, 1), 8, "float16", torch.Generator().manual_seed(1))
    assert (query.shape, key.shape) == ((5, 3, 8), (5, 1, 8))
    assert query.stride() == key.stride() == (32, 8, 1)
    assert key.data_ptr() - query.data_ptr() == 3 * 8 * 2


def test_the_table_has_cosines_then_sines() -> None:
    cos, sin = rotary_table(4, 6, CPU).chunk(2, dim=1)
    torch.testing.assert_close(cos**2 + sin**2, torch.ones(4, 3))
    torch.testing.assert_close(cos[:, 0], torch.arange(4).float().cos())
    torch.testing.assert_close(sin[:, 1], (torch.arange(4) * 10000.0 ** (-1 / 3)).sin())
