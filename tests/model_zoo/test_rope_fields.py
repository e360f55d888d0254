"""Rotary embeddings in the spellings of transformers 4 and 5."""

from __future__ import annotations

import math
from typing import Any

import pytest

from model_zoo.fields import Fields
from model_zoo.registry import config_from_hf
from model_zoo.rope_config import (
    DynamicScaling,
    LinearScaling,
    Llama3Scaling,
    LongRopeScaling,
    RopeConfig,
    RopeScaling,
    YarnScaling,
)
from model_zoo.rope_fields import read_rope
from paged.errors import ConfigError
from tests.helpers.hf_values import llama_values, without

LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32}
LONGROPE = {
    "rope_type": "longrope",
    "short_factor": [1, 1.5],
    "long_factor": [2, 4.5],
    "original_max_position_embeddings": 32,
}
SCALINGS: list[tuple[dict[str, Any], RopeScaling | None]] = [
    ({"rope_type": "default"}, None),
    ({"rope_type": "linear", "factor": 2}, LinearScaling(factor=2.0)),
    ({"rope_type": "dynamic", "factor": 2.5}, DynamicScaling(factor=2.5, max_positions=128)),
    (
        LLAMA3,
        Llama3Scaling(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_positions=32),
    ),
    (
        YARN,
        YarnScaling(factor=4.0, original_positions=32, attention_factor=0.1 * math.log(4.0) + 1.0),
    ),
    (
        LONGROPE,
        LongRopeScaling(
            short_factors=(1.0, 1.5),
            long_factors=(2.0, 4.5),
            original_positions=32,
            attention_factor=math.sqrt(1 + math.log(4.0) / math.log(32.0)),
        ),
    ),
]


def read(**values: Any) -> RopeConfig:
    return read_rope(Fields(values=values), head_dim=4, max_positions=128)


@pytest.mark.parametrize(("given", "scaling"), SCALINGS)
def test_both_spellings_say_the_same(given: dict[str, Any], scaling: RopeScaling | None) -> None:
    expected = RopeConfig(rotary_dim=4, theta=500.0, scaling=scaling)
    older = without(given, "rope_type") | {"type": given["rope_type"]}
    assert read(rope_theta=500.0, rope_scaling=given) == expected
    assert read(rope_theta=500.0, rope_scaling=older) == expected
    assert read(rope_parameters={**given, "rope_theta": 500.0}) == expected
    assert read(rope_parameters=given, rope_theta=500.0) == expected
    assert read(rope_parameters={**given, "rope_theta": 500.0}, rope_theta=7.0) == expected


@pytest.mark.parametrize(
    "values",
    [
        *({}, {"rope_scaling": None}, {"rope_parameters": None}, {"rope_scaling": {}}),
        *({"rope_theta": None}, {"rope_parameters": {"rope_theta": 10000}}),
    ],
)
def test_without_fields_there_is_no_scaling(values: dict[str, Any]) -> None:
    assert read(**values) == RopeConfig(rotary_dim=4, theta=10_000.0)


def test_a_part_of_a_head_may_be_turned() -> None:
    assert read(partial_rotary_factor=0.5).rotary_dim == 2
    assert read(rope_parameters={"partial_rotary_factor": 0.5}).rotary_dim == 2


def test_the_length_in_training_is_given_outside_inside_or_not_at_all() -> None:
    name = "original_max_position_embeddings"
    for values, original in (
        ({"rope_scaling": YARN, name: 64}, 64),
        ({"rope_scaling": YARN}, 32),
        ({"rope_scaling": without(YARN, name)}, 128),
    ):
        scaling = read(**values).scaling
        assert isinstance(scaling, YarnScaling)
        assert scaling.original_positions == original


def test_a_factor_follows_from_the_lengths() -> None:
    scaling = read(rope_scaling=without(YARN, "factor")).scaling
    assert isinstance(scaling, YarnScaling)
    assert (scaling.factor, scaling.attention_factor) == (4.0, 0.1 * math.log(4.0) + 1.0)


def test_yarn_has_further_fields() -> None:
    given = {**YARN, "beta_fast": 16, "beta_slow": 2, "truncate": False, "attention_factor": 0.5}
    assert read(rope_scaling=given).scaling == YarnScaling(
        factor=4.0,
        original_positions=32,
        attention_factor=0.5,
        beta_fast=16.0,
        beta_slow=2.0,
        truncate=False,
    )
    scaling = read(rope_scaling={**YARN, "mscale": 2.0, "mscale_all_dim": 0.5}).scaling
    assert isinstance(scaling, YarnScaling)
    assert scaling.attention_factor == pytest.approx(
        (0.2 * math.log(4.0) + 1.0) / (0.05 * math.log(4.0) + 1.0)
    )


def test_shorter_sequences_than_in_training_grow_nothing() -> None:
    for given in (YARN, LONGROPE):
        scaling = read(rope_scaling={**given, "factor": 0.5}).scaling
        assert isinstance(scaling, YarnScaling | LongRopeScaling)
        assert scaling.attention_factor == 1.0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"rope_scaling": "yarn"}, "rope_scaling to be an object, got 'yarn'"),
        (
            {"rope_scaling": {"type": "mrope"}},
            "rope_scaling.rope_type to be one of default, linear, dynamic, yarn, llama3, longrope",
        ),
        ({"rope_scaling": {"type": "linear"}}, "the field rope_scaling.factor is missing"),
        ({"rope_parameters": {"rope_type": 3}}, "rope_type to be a text"),
        ({"partial_rotary_factor": 1.5}, "above 0 and at most 1, got 1.5"),
        ({"rope_scaling": {**YARN, "factor": -1.0}}, "factor to be above 0, got -1.0"),
        (
            {"rope_scaling": {**YARN, "mscale": -1.0, "mscale_all_dim": 1.0}},
            "rope_scaling.mscale to be above 0",
        ),
        (
            {"rope_scaling": {**YARN, "original_max_position_embeddings": 1}},
            "original_max_position_embeddings to be at least 2, got 1",
        ),
        ({"rope_scaling": without(LLAMA3, "high_freq_factor")}, "high_freq_factor is missing"),
        ({"rope_scaling": without(LONGROPE, "long_factor")}, "long_factor to be a list"),
    ],
)
def test_what_is_no_rotary_embedding_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read(**values)


def test_embeddings_that_differ_by_layer_are_refused() -> None:
    nested = {"full_attention": {"rope_type": "default"}, "sliding_attention": None}
    with pytest.raises(ConfigError, match="one embedding for all layers"):
        config_from_hf(llama_values(rope_parameters=nested))
