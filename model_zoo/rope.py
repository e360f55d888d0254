"""Tables of cosines and sines, as transformers initialises them.

Frequencies are computed in float32 like there, for a rounded frequency moves far positions by
more than logits may differ. Where transformers changes the frequencies while a sequence grows
(dynamic, longrope), a table is made for the sequences' limit instead: what a token computes
must not depend on the batch it is in.
"""

from __future__ import annotations

import math

import torch

from model_zoo.rope_config import (
    DynamicScaling,
    LinearScaling,
    Llama3Scaling,
    LongRopeScaling,
    RopeConfig,
    YarnScaling,
)

_CHUNK_POSITIONS = 4096


def cos_sin_table(rope: RopeConfig, num_positions: int) -> torch.Tensor:
    """Return cosines, then sines, of every position's pairs.

    Shapes: float32 [num_positions, rotary_dim].
    num_positions: most tokens that a sequence may come to.
    """
    frequencies = inverse_frequencies(rope, num_positions)
    magnitude = _magnitude(rope)
    half = rope.rotary_dim // 2
    table = torch.empty((num_positions, 2 * half))
    # by chunks, for the angles of a long table take as much memory as the table
    for begin in range(0, num_positions, _CHUNK_POSITIONS):
        end = min(begin + _CHUNK_POSITIONS, num_positions)
        angles = torch.arange(begin, end)[:, None].float() * frequencies
        table[begin:end, :half] = angles.cos() * magnitude
        table[begin:end, half:] = angles.sin() * magnitude
    return table


def inverse_frequencies(rope: RopeConfig, num_positions: int) -> torch.Tensor:
    """Return the angle by which each pair turns from one position to the next.

    Shapes: float32 [rotary_dim / 2].
    """
    exponents = torch.arange(0, rope.rotary_dim, 2).float() / rope.rotary_dim
    waves = rope.theta**exponents
    match rope.scaling:
        case None:
            return 1.0 / waves
        case LinearScaling(factor=factor):
            return 1.0 / waves / factor
        case DynamicScaling() as scaling:
            return 1.0 / _grown_theta(rope, scaling, num_positions) ** exponents
        case YarnScaling() as scaling:
            return _yarn(rope, scaling, waves)
        case Llama3Scaling() as scaling:
            return _llama3(scaling, 1.0 / waves)
        case LongRopeScaling() as scaling:
            is_long = num_positions > scaling.original_positions
            factors = scaling.long_factors if is_long else scaling.short_factors
            return 1.0 / (torch.tensor(factors) * waves)


def _magnitude(rope: RopeConfig) -> float:
    match rope.scaling:
        case YarnScaling(attention_factor=factor) | LongRopeScaling(attention_factor=factor):
            return factor
        case _:
            return 1.0


def _grown_theta(rope: RopeConfig, scaling: DynamicScaling, num_positions: int) -> float:
    """Return the base that stretches the slowest wave to the limit ("NTK-aware" scaling)."""
    stretch = max(num_positions, scaling.max_positions) / scaling.max_positions
    growth = scaling.factor * stretch - (scaling.factor - 1)
    return rope.theta * growth ** (rope.rotary_dim / (rope.rotary_dim - 2))


def _yarn(rope: RopeConfig, scaling: YarnScaling, waves: torch.Tensor) -> torch.Tensor:
    """Source: Peng et al., 2023, "YaRN", section 3.2."""
    begin = _pair_of_turns(rope, scaling, scaling.beta_fast)
    end = _pair_of_turns(rope, scaling, scaling.beta_slow)
    if scaling.truncate:
        begin, end = float(math.floor(begin)), float(math.ceil(end))
    begin, end = max(begin, 0.0), min(end, rope.rotary_dim - 1.0)
    if begin == end:
        end += 0.001  # as transformers does: the ramp is a step
    ramp = ((torch.arange(rope.rotary_dim // 2).float() - begin) / (end - begin)).clamp(0, 1)
    kept = 1 - ramp
    return 1.0 / (scaling.factor * waves) * (1 - kept) + 1.0 / waves * kept


def _pair_of_turns(rope: RopeConfig, scaling: YarnScaling, num_turns: float) -> float:
    """Pair, a fraction in general, that makes so many full turns over a sequence in training."""
    wave = scaling.original_positions / (num_turns * 2 * math.pi)
    return rope.rotary_dim * math.log(wave) / (2 * math.log(rope.theta))


def _llama3(scaling: Llama3Scaling, frequencies: torch.Tensor) -> torch.Tensor:
    """Source: transformers, the RoPE of Llama 3.1."""
    longest_kept = scaling.original_positions / scaling.high_freq_factor
    shortest_stretched = scaling.original_positions / scaling.low_freq_factor
    waves = 2 * math.pi / frequencies
    stretched = frequencies / scaling.factor
    share = (scaling.original_positions / waves - scaling.low_freq_factor) / (
        scaling.high_freq_factor - scaling.low_freq_factor
    )
    between = (1 - share) * stretched + share * frequencies
    short_or_between = torch.where(waves < longest_kept, frequencies, between)
    return torch.where(waves > shortest_stretched, stretched, short_or_between)
