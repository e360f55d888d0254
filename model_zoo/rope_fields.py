"""The rotary embedding of a config.json, in the spellings that transformers 4 and 5 write.

transformers 4: `rope_theta`, and `rope_scaling` with `type` or `rope_type`, or null.
transformers 5: all in `rope_parameters`.
"""

from __future__ import annotations

import math

from model_zoo.fields import Fields
from model_zoo.rope_config import (
    DynamicScaling,
    LinearScaling,
    Llama3Scaling,
    LongRopeScaling,
    RopeConfig,
    RopeScaling,
    YarnScaling,
)
from paged.errors import ConfigError

ROPE_TYPES = ("default", "linear", "dynamic", "yarn", "llama3", "longrope")

_DEFAULT_THETA = 10_000.0


def read_rope(fields: Fields, *, head_dim: int, max_positions: int) -> RopeConfig:
    """Return the rotary embedding of a configuration, with transformers' defaults.

    max_positions: the configuration's `max_position_embeddings`.
    Raises: ConfigError.
    """
    scaling = fields.optional_object("rope_scaling")
    if scaling is None or not scaling.values:
        scaling = fields.optional_object("rope_parameters")
    if scaling is None:
        scaling = Fields(values={})
    for name in ("full_attention", "sliding_attention"):
        if scaling.has(name):
            raise ConfigError(f"expected one embedding for all layers, got {scaling.prefix}{name}")
    places = (scaling, fields)
    theta = _first_number(places, "rope_theta")
    share = _first_number(places, "partial_rotary_factor")
    return RopeConfig(
        rotary_dim=head_dim if share is None else _rotary_dim(fields, head_dim, share),
        theta=_DEFAULT_THETA if theta is None else theta,
        scaling=_scaling(scaling, fields, max_positions),
    )


def yarn_growth(factor: float, scale: float = 1.0) -> float:
    """Return the growth of cosines and sines that makes up for flatter attention over longer texts.

    Source: transformers, YaRN's `get_mscale`.
    """
    return 1.0 + 0.1 * scale * math.log(factor) if factor > 1 else 1.0


def _rotary_dim(fields: Fields, head_dim: int, share: float) -> int:
    if not 0 < share <= 1:
        raise ConfigError(f"expected partial_rotary_factor above 0 and at most 1, got {share}")
    return int(head_dim * share)


def _first_number(places: tuple[Fields, ...], name: str) -> float | None:
    found = (place.optional_number(name) for place in places)
    return next((number for number in found if number is not None), None)


def _scaling(scaling: Fields, fields: Fields, max_positions: int) -> RopeScaling | None:
    kind = scaling.optional_text("rope_type") or scaling.optional_text("type") or "default"
    scaling.require_one_of("rope_type", kind, ROPE_TYPES)
    match kind:
        case "linear":
            return LinearScaling(factor=scaling.number("factor"))
        case "dynamic":
            return DynamicScaling(factor=scaling.number("factor"), max_positions=max_positions)
        case "yarn":
            return _yarn(scaling, _original(scaling, fields, max_positions), max_positions)
        case "llama3":
            return Llama3Scaling(
                factor=scaling.number("factor"),
                low_freq_factor=scaling.number("low_freq_factor"),
                high_freq_factor=scaling.number("high_freq_factor"),
                original_positions=_original(scaling, fields, max_positions),
            )
        case "longrope":
            return _longrope(scaling, _original(scaling, fields, max_positions), max_positions)
        case _:
            return None


def _original(scaling: Fields, fields: Fields, max_positions: int) -> int:
    """Tokens of a sequence in training; Phi-3's spelling, outside of the object, goes first."""
    name = "original_max_position_embeddings"
    found = (place.optional_integer(name) for place in (fields, scaling))
    original = next((number for number in found if number is not None), max_positions)
    if original < 2:
        raise ConfigError(f"expected {scaling.prefix}{name} to be at least 2, got {original}")
    return original


def _yarn(scaling: Fields, original: int, max_positions: int) -> YarnScaling:
    factor = _factor(scaling, original, max_positions)
    attention_factor = scaling.optional_number("attention_factor")
    if attention_factor is None:
        mscale = scaling.optional_number("mscale")
        mscale_all_dim = scaling.optional_number("mscale_all_dim")
        attention_factor = yarn_growth(factor)
        if mscale and mscale_all_dim:
            _require_positive(scaling, mscale=mscale, mscale_all_dim=mscale_all_dim)
            attention_factor = yarn_growth(factor, mscale) / yarn_growth(factor, mscale_all_dim)
    truncate = scaling.optional_boolean("truncate")
    return YarnScaling(
        factor=factor,
        original_positions=original,
        attention_factor=attention_factor,
        beta_fast=scaling.optional_number("beta_fast") or 32.0,
        beta_slow=scaling.optional_number("beta_slow") or 1.0,
        truncate=True if truncate is None else truncate,
    )


def _longrope(scaling: Fields, original: int, max_positions: int) -> LongRopeScaling:
    factor = _factor(scaling, original, max_positions)
    attention_factor = scaling.optional_number("attention_factor")
    if attention_factor is None:
        growth = max(0.0, math.log(factor)) / math.log(original)
        attention_factor = math.sqrt(1.0 + growth)
    return LongRopeScaling(
        short_factors=scaling.numbers("short_factor"),
        long_factors=scaling.numbers("long_factor"),
        original_positions=original,
        attention_factor=attention_factor,
    )


def _factor(scaling: Fields, original: int, max_positions: int) -> float:
    """How many times longer sequences are than in training."""
    factor = scaling.optional_number("factor")
    factor = max_positions / original if factor is None else factor
    _require_positive(scaling, factor=factor)
    return factor


def _require_positive(scaling: Fields, **numbers: float) -> None:
    for name, number in numbers.items():
        if number <= 0:
            raise ConfigError(f"expected {scaling.prefix}{name} to be above 0, got {number}")
