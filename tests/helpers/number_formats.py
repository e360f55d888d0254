"""Small binary formats by their tables of values: rounding as its definition says.

The slow, obvious version: numbers are looked up among all values that a format has, which torch
lists, so that nothing here knows of exponents or mantissas.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch

Mode = Literal["rn", "rz", "rd", "ru"]
MODES: tuple[Mode, ...] = ("rn", "rz", "rd", "ru")

Doubles = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class NumberFormat:
    """A signed binary format.

    Attributes:
        dtype: torch's name of it.
        max_code: the code of its largest finite number.
        overflow_code: what a magnitude above that becomes: infinity, or NaN without one.
        nan_code: the NaN that conversions give.

    """

    dtype: torch.dtype
    max_code: int
    overflow_code: int
    nan_code: int

    @property
    def num_bits(self) -> int:
        """Return the width of a code."""
        return 8 * self.dtype.itemsize

    @property
    def sign_bit(self) -> int:
        """Return the code of minus zero."""
        return 1 << (self.num_bits - 1)

    @cached_property
    def all_codes(self) -> torch.Tensor:
        """Every code there is, in the format's own type."""
        integers = torch.int16 if self.num_bits == 16 else torch.int8
        return torch.arange(1 << self.num_bits).to(integers).view(self.dtype)

    @cached_property
    def values(self) -> Doubles:
        """The number of each code; NaN where it is none."""
        return self.all_codes.to(torch.float64).numpy()

    @cached_property
    def magnitudes(self) -> Doubles:
        """Finite numbers from zero up, and the next one if the exponent went on."""
        finite = self.values[: self.max_code + 1]
        return np.append(finite, 2 * finite[-1] - finite[-2])

    def round(self, numbers: Doubles, mode: Mode = "rn", *, saturate: bool = False) -> Codes:
        """Return the codes of numbers, each rounded once."""
        negative = np.signbit(numbers)
        size = np.abs(numbers)
        finite = np.isfinite(size)
        bounded = np.where(finite, np.minimum(size, self.magnitudes[-1]), 0)
        below = np.searchsorted(self.magnitudes, bounded, side="right") - 1
        below = np.minimum(below, self.max_code)
        above = below + 1
        middle = (self.magnitudes[below] + self.magnitudes[above]) / 2
        if mode == "rn":
            up = (bounded > middle) | ((bounded == middle) & (below % 2 == 1))
        else:
            inexact = bounded > self.magnitudes[below]
            up = inexact & {"rz": False & negative, "rd": negative, "ru": ~negative}[mode]
        codes = np.where(finite, below + up, self.max_code + 1)
        top = self.max_code if saturate else self.overflow_code
        codes = np.where(codes > self.max_code, top, codes)
        codes = np.where(negative, codes | self.sign_bit, codes)
        return np.where(np.isnan(numbers), self.nan_code, codes)

    def hard_floats(self, num_random: int) -> npt.NDArray[np.float32]:
        """Return binary32 numbers that test rounding: values, ties, their neighbours, specials."""
        between = (self.magnitudes[1:] + self.magnitudes[:-1]) / 2
        with np.errstate(over="ignore"):  # the magnitude that bfloat16 does not have is infinite
            points = np.concatenate([self.magnitudes, between]).astype(np.float32)
        near = np.concatenate([points, np.nextafter(points, 0), np.nextafter(points, np.inf)])
        bits = np.random.default_rng(0).integers(0, 1 << 32, num_random, dtype=np.uint32)
        special = np.array([0, np.inf, np.nan, 3e38, 1e-45], dtype=np.float32)
        floats = np.concatenate([near, special, bits.view(np.float32)])
        floats[np.isnan(floats)] = np.nan  # none that signals, which NumPy warns of
        return np.concatenate([floats, -floats])


HALF = NumberFormat(dtype=torch.float16, max_code=0x7BFF, overflow_code=0x7C00, nan_code=0x7FFF)
BFLOAT16 = NumberFormat(
    dtype=torch.bfloat16, max_code=0x7F7F, overflow_code=0x7F80, nan_code=0x7FFF
)
E4M3 = NumberFormat(dtype=torch.float8_e4m3fn, max_code=0x7E, overflow_code=0x7F, nan_code=0x7F)
E5M2 = NumberFormat(dtype=torch.float8_e5m2, max_code=0x7B, overflow_code=0x7C, nan_code=0x7F)


def codes_of(tensor: torch.Tensor) -> Codes:
    """Return the bits of a tensor of small numbers."""
    if tensor.dtype.itemsize == 1:
        return tensor.view(torch.uint8).numpy().astype(np.int64)
    return tensor.view(torch.int16).numpy().astype(np.int64) & 0xFFFF


def integers_to_odd(integers: list[int]) -> Doubles:
    """Return doubles that round to few bits as the integers do: the last bit stands for more."""
    lost = (1 << 12) - 1
    rounded = [value & ~lost | lost + 1 if value & lost else value for value in integers]
    is_exact = [abs(value) <= 1 << 53 for value in integers]
    return np.array(
        [v if e else r for v, r, e in zip(integers, rounded, is_exact, strict=True)], float
    )


def fma_to_odd(a: float, b: float, c: float) -> float:
    """Return a * b + c as a double that rounds to few bits as the exact sum does."""
    if not np.isfinite([a, b, c]).all():
        with np.errstate(invalid="ignore"):
            return float(np.float64(a) * b + c)
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    nearest = float(exact)
    if exact == 0:
        return a * b + c
    if exact == Fraction(nearest) or np.float64(nearest).view(np.int64) % 2:
        return nearest
    return float(np.nextafter(nearest, np.inf if exact > nearest else -np.inf))
