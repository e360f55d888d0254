"""Rotary embeddings that cannot be."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from model_zoo.rope_config import (
    DynamicScaling,
    LinearScaling,
    Llama3Scaling,
    LongRopeScaling,
    RopeConfig,
    YarnScaling,
)
from paged.errors import ConfigError


@pytest.mark.parametrize("rotary_dim", [0, -2, 7])
def test_elements_are_turned_in_pairs(rotary_dim: int) -> None:
    with pytest.raises(ConfigError, match=f"even rotary_dim above 0, got {rotary_dim}"):
        RopeConfig(rotary_dim=rotary_dim)


@pytest.mark.parametrize("theta", [1.0, 0.0, -5.0, math.inf, math.nan])
def test_the_base_is_finite_and_above_one(theta: float) -> None:
    with pytest.raises(ConfigError, match="finite theta above 1"):
        RopeConfig(rotary_dim=8, theta=theta)


@pytest.mark.parametrize("factor", [0.0, -1.0, math.inf, math.nan])
def test_factors_are_finite_and_above_zero(factor: float) -> None:
    yarn = YarnScaling(factor=2.0, original_positions=32, attention_factor=1.0)
    llama3 = Llama3Scaling(
        factor=2.0, low_freq_factor=1.0, high_freq_factor=4.0, original_positions=32
    )
    longrope = LongRopeScaling(
        short_factors=(1.0,), long_factors=(2.0,), original_positions=32, attention_factor=1.0
    )
    with pytest.raises(ConfigError, match="factor above 0"):
        LinearScaling(factor=factor)
    with pytest.raises(ConfigError, match="factor above 0"):
        DynamicScaling(factor=factor, max_positions=32)
    for name in ("factor", "attention_factor", "beta_fast", "beta_slow"):
        with pytest.raises(ConfigError, match=f"{name} above 0"):
            replace(yarn, **{name: factor})
    for name in ("factor", "low_freq_factor", "high_freq_factor"):
        with pytest.raises(ConfigError, match=f"{name} above 0"):
            replace(llama3, **{name: factor})
    for name in ("short_factors", "long_factors"):
        with pytest.raises(ConfigError, match="factor of each pair above 0"):
            replace(longrope, **{name: (factor,)})


@pytest.mark.parametrize("positions", [1, 0, -3, 2**40])
def test_lengths_in_training_are_lengths(positions: int) -> None:
    with pytest.raises(ConfigError, match=f"max_positions from 2 to .*, got {positions}"):
        DynamicScaling(factor=2.0, max_positions=positions)
    with pytest.raises(ConfigError, match="original_positions from 2"):
        YarnScaling(factor=2.0, original_positions=positions, attention_factor=1.0)


def test_the_waves_of_llama3_are_in_order() -> None:
    with pytest.raises(ConfigError, match=r"low_freq_factor below high_freq_factor, got 4.0 and"):
        Llama3Scaling(factor=8.0, low_freq_factor=4.0, high_freq_factor=4.0, original_positions=8)


@pytest.mark.parametrize(("num_short", "num_long"), [(3, 4), (4, 5)])
def test_longrope_has_a_factor_for_each_pair(num_short: int, num_long: int) -> None:
    scaling = LongRopeScaling(
        short_factors=(1.0,) * num_short,
        long_factors=(2.0,) * num_long,
        original_positions=32,
        attention_factor=1.0,
    )
    with pytest.raises(ConfigError, match=r"expected 4 (short|long)_factors, one for each pair"):
        RopeConfig(rotary_dim=8, scaling=scaling)


def test_dynamic_scaling_needs_two_pairs() -> None:
    with pytest.raises(ConfigError, match="rotary_dim above 2"):
        RopeConfig(rotary_dim=2, scaling=DynamicScaling(factor=2.0, max_positions=32))
