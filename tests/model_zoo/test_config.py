"""Configurations: sizes, weights in all, KV groups, refusals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from model_zoo.config import KVGroup, LayerPlace
from model_zoo.registry import config_from_hf
from model_zoo.tiny import CONFIG
from paged.errors import ConfigError
from paged.shapes import MODELS
from tests.helpers.hf_values import PUBLISHED


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_shape_is_that_of_the_published_model(name: str) -> None:
    config = config_from_hf(PUBLISHED[name])
    assert replace(config.shape, name=name) == MODELS[name]


def test_the_shape_has_the_bytes_of_the_checkpoint() -> None:
    assert CONFIG.shape.weight_bytes_per_param == 4
    assert replace(CONFIG, dtype="float16").shape.kv_bytes_per_value == 2


def test_layers_of_one_window_are_one_group() -> None:
    windows = (8, None, 8, 4, None)
    config = replace(CONFIG, num_layers=5, windows=windows)
    assert config.kv_groups == (
        KVGroup(layers=(0, 2), window=8),
        KVGroup(layers=(1, 4), window=None),
        KVGroup(layers=(3,), window=4),
    )


def test_each_layer_has_its_place_in_its_group() -> None:
    config = replace(CONFIG, num_layers=5, windows=(8, None, 8, 4, None))
    assert config.places == (
        LayerPlace(group=0, index=0, window=8),
        LayerPlace(group=1, index=0, window=None),
        LayerPlace(group=0, index=1, window=8),
        LayerPlace(group=2, index=0, window=4),
        LayerPlace(group=1, index=1, window=None),
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_layers": 0}, "num_layers from 1 to 65536, got num_layers 0"),
        ({"hidden_size": -4}, "hidden_size from 1"),
        ({"vocab_size": 2**40}, "vocab_size from 1"),
        ({"max_model_len": 2**30}, "max_model_len from 1 to 67108864"),
        ({"num_kv_heads": 3}, "num_heads to be a multiple of num_kv_heads, got num_heads 4, num"),
        ({"norm_eps": float("nan")}, "norm_eps between 0 and 1"),
        ({"norm_eps": 0.0}, "norm_eps between 0 and 1"),
        ({"dtype": "int4"}, "one of float32, bfloat16, float16, got dtype int4"),
        ({"head_dim": 8}, "rotary_dim to be at most head_dim, got 16 and 8"),
        ({"windows": (None,)}, "for each of 2 layers, got 1"),
        ({"windows": (None, 0)}, "expected windows from 1"),
        ({"eos_ids": (3, -1)}, "got -1"),
        ({"bos_id": -7}, "got -7"),
        ({"hidden_size": 2**31 - 1, "vocab_size": 2**31 - 1}, "at most 2\\^50 weights"),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        replace(CONFIG, **changes)
