"""Fields of a file that may hold anything."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model_zoo.fields import Fields
from model_zoo.registry import config_from_hf
from paged.errors import ConfigError
from tests.helpers.hf_values import PUBLISHED, llama_values, without


def fields(**values: Any) -> Fields:
    return Fields(values=values, prefix="some.")


@pytest.mark.parametrize("value", ["4", 4.0, True, [4], {}, 2**63, -(2**63), 10**400])
def test_a_whole_number_is_no_other_value(value: object) -> None:
    with pytest.raises(ConfigError, match=r"expected some.size to be a whole number"):
        fields(size=value).integer("size")


@pytest.mark.parametrize("value", ["1", False, float("nan"), float("inf"), 10**400, [1.0]])
def test_a_number_is_finite(value: object) -> None:
    with pytest.raises(ConfigError, match=r"expected some.rate to be a finite number, got"):
        fields(rate=value).number("rate")
    with pytest.raises(ConfigError, match=r"expected some.rates to be a finite number, got"):
        fields(rates=[0.5, value]).numbers("rates")


def test_numbers_may_be_whole() -> None:
    read = fields(rate=3, rates=[1, 2.5], size=-4)
    assert (read.number("rate"), read.numbers("rates"), read.integer("size")) == (3, (1, 2.5), -4)


@pytest.mark.parametrize(
    ("method", "value", "expected"),
    [
        ("optional_boolean", 1, "true or false"),
        ("optional_text", 1, "a text"),
        ("optional_texts", ["a", 1], "a list of texts"),
        ("optional_texts", "a", "a list of texts"),
        ("optional_object", [], "an object"),
        ("numbers", 1.0, "a list of numbers"),
        ("ids", [1, "2"], "a token id or a list of them"),
        ("ids", True, "a token id or a list of them"),
    ],
)
def test_each_type_is_named_where_it_is_missed(method: str, value: object, expected: str) -> None:
    with pytest.raises(ConfigError, match=rf"expected some.it to be {expected}, got"):
        getattr(fields(it=value), method)("it")


def test_null_counts_as_absent() -> None:
    for read in (fields(), fields(it=None)):
        assert read.optional_integer("it") is None
        assert read.optional_number("it") is None
        assert read.optional_boolean("it") is None
        assert read.optional_text("it") is None
        assert read.optional_texts("it") is None
        assert read.optional_object("it") is None
        assert read.ids("it") == ()
        for needed in (read.integer, read.number):
            with pytest.raises(ConfigError, match=r"the field some.it is missing"):
                needed("it")
    with pytest.raises(ConfigError, match=r"expected some.it to be a list of numbers, got nothing"):
        fields().numbers("it")
    assert fields(it=None).has("it")
    assert not fields().has("it")


def test_ids_are_one_or_many() -> None:
    assert fields(it=5).ids("it") == (5,)
    assert fields(it=[5, 6]).ids("it") == (5, 6)


def test_an_error_inside_of_an_object_says_where() -> None:
    inner = fields(rope={"factor": "x"}).optional_object("rope")
    assert inner is not None
    with pytest.raises(ConfigError, match=r"expected some.rope.factor"):
        inner.number("factor")


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([0, 1, -1, 2**31, 2**63, 10**400, 1e300, "silu", "yarn"])
    | st.floats()
    | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("rope_type", "type", "factor", "rope_theta", "mscale", "mscale_all_dim"),
                    *("original_max_position_embeddings", "long_factor", "short_factor"),
                    *("low_freq_factor", "high_freq_factor", "partial_rotary_factor"),
                ]
            ),
            inner,
        )
    ),
    max_leaves=6,
)
_NAMES = sorted(
    {name for values in PUBLISHED.values() for name in values}
    | {"rope_scaling", "rope_parameters", "layer_types", "head_dim", "partial_rotary_factor"}
    | {"original_max_position_embeddings", "quantization_config", "dtype", "mlp_bias"}
)


@settings(max_examples=150)
@given(
    name=st.sampled_from(sorted(PUBLISHED)),
    changes=st.dictionaries(st.sampled_from(_NAMES), _JSON, min_size=1, max_size=4),
)
def test_anything_is_read_or_refused(name: str, changes: dict[str, Any]) -> None:
    try:
        config = config_from_hf({**PUBLISHED[name], **changes})
    except ConfigError:
        return
    assert config.shape.num_params > 0


@pytest.mark.parametrize(
    "name",
    [
        *("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads"),
        *("vocab_size", "max_position_embeddings"),
    ],
)
def test_a_missing_size_is_named(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"config.json: the field {name} is missing"):
        config_from_hf(without(llama_values(), name))
