"""How positions turn queries and keys: base, turned elements, and one of five scalings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from paged.errors import ConfigError

_MAX_POSITIONS = 2**31 - 1


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise ConfigError(message)


def _require_factor(name: str, factor: float) -> None:
    # careful: nan is neither above nor below anything
    _require(
        0 < factor < math.inf, f"rope scaling: expected a finite {name} above 0, got {factor!s:.40}"
    )


def _require_positions(name: str, positions: int) -> None:
    _require(
        1 < positions <= _MAX_POSITIONS,
        f"rope scaling: expected {name} from 2 to {_MAX_POSITIONS}, got {positions!s:.40}",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearScaling:
    """Positions divided by a factor."""

    factor: float

    def __post_init__(self) -> None:
        _require_factor("factor", self.factor)


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicScaling:
    """A base that grows with the sequences' limit, where that is above max_positions."""

    factor: float
    max_positions: int

    def __post_init__(self) -> None:
        _require_factor("factor", self.factor)
        _require_positions("max_positions", self.max_positions)


@dataclass(frozen=True, slots=True, kw_only=True)
class YarnScaling:
    """Slow pairs as LinearScaling has them, fast ones as they were, a ramp between.

    original_positions: tokens of a sequence in training.
    attention_factor: multiplies cosines and sines.
    beta_fast, beta_slow: full turns over original_positions where the ramp begins and ends.
    truncate: whether the ramp begins and ends at whole pairs.
    """

    factor: float
    original_positions: int
    attention_factor: float
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    truncate: bool = True

    def __post_init__(self) -> None:
        for name in ("factor", "attention_factor", "beta_fast", "beta_slow"):
            _require_factor(name, getattr(self, name))
        _require_positions("original_positions", self.original_positions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Llama3Scaling:
    """Long waves stretched by a factor, short ones kept, a smooth change between.

    A wave is long above original_positions / low_freq_factor positions, and short below
    original_positions / high_freq_factor.
    """

    factor: float
    low_freq_factor: float
    high_freq_factor: float
    original_positions: int

    def __post_init__(self) -> None:
        for name in ("factor", "low_freq_factor", "high_freq_factor"):
            _require_factor(name, getattr(self, name))
        _require_positions("original_positions", self.original_positions)
        _require(
            self.low_freq_factor < self.high_freq_factor,
            "rope scaling: expected low_freq_factor below high_freq_factor,"
            f" got {self.low_freq_factor} and {self.high_freq_factor}",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LongRopeScaling:
    """A factor for each pair: one list for short limits, one for long ones.

    short_factors, long_factors: one for each pair; long ones serve where the sequences'
        limit is above original_positions.
    attention_factor: multiplies cosines and sines.
    """

    short_factors: tuple[float, ...]
    long_factors: tuple[float, ...]
    original_positions: int
    attention_factor: float

    def __post_init__(self) -> None:
        _require_factor("attention_factor", self.attention_factor)
        _require_positions("original_positions", self.original_positions)
        for factor in (*self.short_factors, *self.long_factors):
            _require_factor("factor of each pair", factor)


RopeScaling = LinearScaling | DynamicScaling | YarnScaling | Llama3Scaling | LongRopeScaling


@dataclass(frozen=True, slots=True, kw_only=True)
class RopeConfig:
    """Rotary embedding of queries and keys.

    rotary_dim: leading elements of a head that are turned; element i pairs with
        i + rotary_dim / 2.
    theta: base of the frequencies.
    """

    rotary_dim: int
    theta: float = 10_000.0
    scaling: RopeScaling | None = None

    def __post_init__(self) -> None:
        _require(
            self.rotary_dim > 0 and self.rotary_dim % 2 == 0,
            f"rope: expected an even rotary_dim above 0, got {self.rotary_dim!s:.40}",
        )
        _require(
            1 < self.theta < math.inf,
            f"rope: expected a finite theta above 1, got {self.theta!s:.40}",
        )
        match self.scaling:
            case LongRopeScaling(short_factors=short, long_factors=long):
                self._require_pairs("short_factors", short)
                self._require_pairs("long_factors", long)
            case DynamicScaling():
                _require(
                    self.rotary_dim > 2,
                    "rope: dynamic scaling needs a rotary_dim above 2, got 2",
                )
            case _:
                pass

    def _require_pairs(self, name: str, factors: Sequence[float]) -> None:
        _require(
            len(factors) == self.rotary_dim // 2,
            f"rope scaling: expected {self.rotary_dim // 2} {name}, one for each pair,"
            f" got {len(factors)}",
        )
