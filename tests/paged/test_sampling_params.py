"""Every field of the sampling parameters: what is taken, what is refused and in which words."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paged.errors import ConfigError
from paged.sampling_params import BeamParams, SamplingParams

LATEST = 2**63 - 1
WRONG_INTEGERS = (True, False, 1.5, 2.0, "1", None, math.nan, [1])
WRONG_NUMBERS = (True, "0.5", "inf", None, math.nan, math.inf, -math.inf, 1j, 10**400, [0.5])


def make(**values: Any) -> SamplingParams:
    """Make parameters of values whose types nobody has checked."""
    return SamplingParams(**values)


def refused(name: str, value: Any, **others: Any) -> str:
    """Text with which a value is refused."""
    with pytest.raises(ConfigError) as caught:
        make(**{name: value}, **others)
    text = str(caught.value)
    assert text.startswith(f"{name}: expected ")
    assert len(text) < 250
    return text


@pytest.mark.parametrize(
    ("name", "taken", "wrong"),
    [
        ("n", (1, 128), (0, -1, 129, 1_000_000)),
        ("top_k", (1, 2**31 - 1), (-2, 2**31)),
        ("logprobs", (0, 20), (-1, 21)),
        ("prompt_logprobs", (0, 20), (-1, 21)),
        ("seed", (0, -1, LATEST, -LATEST - 1), (LATEST + 1, 2**64, -(2**63) - 1, 10**5000)),
        ("min_tokens", (0, 16), (-1, 17)),
        ("max_tokens", (1, 2**31, 10**30, 10**5000), (0, -1)),
    ],
)
def test_integers_have_a_range(name: str, taken: tuple[int, ...], wrong: tuple[int, ...]) -> None:
    for value in taken:
        assert getattr(make(**{name: value}), name) == value
    for value in (*wrong, *WRONG_INTEGERS):
        if value is not None or name in ("n", "min_tokens"):
            refused(name, value)


@pytest.mark.parametrize("name", ["top_k", "logprobs", "prompt_logprobs", "seed", "max_tokens"])
def test_some_integers_may_be_left_open(name: str) -> None:
    assert getattr(make(**{name: None}), name) is None


@pytest.mark.parametrize(
    ("name", "taken", "wrong"),
    [
        ("temperature", (0, 1e-9, 2.0), (-1, -1e-9, 2.0001)),
        ("top_p", (1e-9, 1), (0, 0.0, 1.0001, -0.1)),
        ("min_p", (0, 1), (1.0001, -0.1)),
        ("presence_penalty", (-2, 2), (-2.001, 2.001)),
        ("frequency_penalty", (-2, 2), (-2.001, 2.001)),
        ("repetition_penalty", (0.01, 1, 10), (0, -1, 10.1)),
    ],
)
def test_numbers_have_a_range(
    name: str, taken: tuple[float, ...], wrong: tuple[float, ...]
) -> None:
    for value in taken:
        kept = getattr(make(**{name: value}), name)
        assert kept == value
        assert type(kept) is float
    for value in (*wrong, *WRONG_NUMBERS):
        refused(name, value)


@pytest.mark.parametrize(
    "name", ["ignore_eos", "include_stop_str_in_output", "skip_special_tokens"]
)
def test_switches_are_true_or_false(name: str) -> None:
    for value in (0, 1, "yes", None):
        assert refused(name, value).endswith(f"True or False, got {value!r}")


def test_all_tokens_are_asked_for_in_three_ways() -> None:
    assert [SamplingParams(top_k=value).top_k for value in (None, 0, -1, 1)] == [None] * 3 + [1]


def test_tiny_temperatures_are_greedy() -> None:
    greedy = [SamplingParams(temperature=value).is_greedy for value in (0, 1e-9, 9e-6, 2e-5, 1)]
    assert greedy == [True, True, True, False, False]


def test_stop_strings_are_kept_once_and_in_order() -> None:
    assert SamplingParams(stop="end").stop_strings == ("end",)
    assert SamplingParams(stop=["b", "a", "b"]).stop_strings == ("b", "a")
    assert SamplingParams().stop_strings == ()


@pytest.mark.parametrize(
    "value", ["", [""], ["a", ""], [None], [1], 1, None, b"a", {"a": 1}, "a" * 257, "\ud800"]
)
def test_stop_strings_are_text(value: Any) -> None:
    refused("stop", value)


def test_lists_have_a_longest_length() -> None:
    assert refused("stop", ["a"] * 1000).endswith("at most 32 entries, got 1000")
    refused("stop_token_ids", range(10**12))
    refused("logit_bias", dict.fromkeys(range(1025), 0.0))
    assert len(SamplingParams(stop_token_ids=range(128)).stop_token_ids) == 128


@pytest.mark.parametrize("value", [[-1], [2**31], [1.0], [True], ["1"], "12", 3, None, {1: 2}])
def test_stop_ids_are_token_ids(value: Any) -> None:
    refused("stop_token_ids", value)


def test_stop_ids_are_kept_once() -> None:
    params = SamplingParams(stop_token_ids=np.array([7, 3, 7]))
    assert params.stop_token_ids == (7, 3)
    assert {type(token) for token in params.stop_token_ids} == {int}


@pytest.mark.parametrize(
    "value",
    [{-1: 1}, {"abc": 1}, {"5": 1}, {2**31: 1}, {1: 101}, {1: math.nan}, {1: "1"}, [(1, 2)], None],
)
def test_biases_are_numbers_by_token_id(value: Any) -> None:
    refused("logit_bias", value)


def test_biases_are_a_copy() -> None:
    mine = {5: 1}
    params = SamplingParams(logit_bias=mine)
    mine[6] = 2
    assert params.logit_bias == {5: 1.0}


def test_ids_outside_the_vocabulary_are_named() -> None:
    SamplingParams(logit_bias={99: 1.0}, stop_token_ids=[99]).check_vocabulary(100)
    with pytest.raises(ConfigError, match=r"logit_bias: .* below 100, the vocabulary, got 999999"):
        SamplingParams(logit_bias={999999: 1.0}).check_vocabulary(100)
    with pytest.raises(ConfigError, match=r"stop_token_ids: .* got 100"):
        SamplingParams(stop_token_ids=[100]).check_vocabulary(100)
    with pytest.raises(ConfigError, match=r"prompt_logprobs: .* got 20"):
        SamplingParams(prompt_logprobs=20).check_vocabulary(10)


def test_some_tokens_must_not_stop_a_sequence() -> None:
    beam = SamplingParams(beam=BeamParams(width=3), stop_token_ids=[0])
    beam.check_vocabulary(5, {1, 7})
    with pytest.raises(ConfigError, match=r"beam\.width: expected at most 2, .* got 3"):
        beam.check_vocabulary(4, {1, 7})
    SamplingParams(beam=BeamParams(width=3), ignore_eos=True).check_vocabulary(3, {1})
    long = SamplingParams(min_tokens=1, stop_token_ids=[0])
    long.check_vocabulary(3, {1})
    with pytest.raises(ConfigError, match="stop_token_ids: expected a token to draw"):
        long.check_vocabulary(2, {1})


def test_huge_limits_are_clipped_to_the_context() -> None:
    assert SamplingParams(max_tokens=10**30).num_new_tokens(100) == 100
    assert SamplingParams(max_tokens=None).num_new_tokens(100) == 100
    assert SamplingParams(max_tokens=3).num_new_tokens(100) == 3


def test_an_open_limit_allows_any_least_length() -> None:
    assert SamplingParams(max_tokens=None, min_tokens=1000).min_tokens == 1000


def test_penalties_are_seen() -> None:
    assert not SamplingParams().has_penalties
    for name in ("presence_penalty", "frequency_penalty", "repetition_penalty"):
        assert make(**{name: 0.5}).has_penalties


def test_a_search_runs_its_beams() -> None:
    assert SamplingParams(n=2, beam=BeamParams(width=4)).num_sequences == 4
    assert SamplingParams(n=2).num_sequences == 2
    assert refused("n", 5, beam=BeamParams(width=4)).endswith("the beam width, 4, got 5")
    refused("beam", 4)


@pytest.mark.parametrize(
    ("name", "value"),
    [("temperature", 0.5), ("top_k", 3), ("stop", "a"), ("logprobs", 1)],
)
def test_a_search_does_not_draw(name: str, value: Any) -> None:
    assert "beside beam" in refused(name, value, beam=BeamParams(width=2))


@pytest.mark.parametrize(
    "values",
    [
        *({"width": value} for value in (0, 129, True, 2.0, None)),
        *({"length_penalty": value} for value in (math.nan, 11, "1", None)),
        *({"early_stopping": value} for value in (1, None, "always")),
    ],
)
def test_beams_are_checked(values: dict[str, Any]) -> None:
    beam: dict[str, Any] = {"width": 2, **values}
    with pytest.raises(ConfigError, match=r"^beam\.\w+: expected "):
        BeamParams(**beam)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.integers(), inner, max_size=3),
)


@given(st.dictionaries(st.sampled_from(sorted(asdict(SamplingParams()))), ANYTHING, max_size=4))
def test_anything_is_taken_or_refused(values: dict[str, Any]) -> None:
    try:
        params = make(**values)
    except ConfigError:
        return
    assert make(**{name: getattr(params, name) for name in asdict(params)}) == params
