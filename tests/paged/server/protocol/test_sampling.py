"""The fields that both endpoints share."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from paged.errors import ConfigError
from paged.sampling_params import BeamParams, SamplingParams
from paged.server.protocol.error import ApiError
from paged.server.protocol.sampling import SamplingFields


def _params(**body: Any) -> SamplingParams:
    return SamplingFields(**body).sampling_params(
        max_tokens=16, logprobs=None, prompt_logprobs=None
    )


def test_nothing_said_is_every_default() -> None:
    assert _params() == SamplingParams(max_tokens=16)
    named = {name: None for name in SamplingFields.model_fields}
    assert _params(**named) == SamplingParams(max_tokens=16)


def test_every_field_reaches_the_engine() -> None:
    given = {
        **{"n": 2, "temperature": 0.5, "top_p": 0.9, "top_k": 5, "min_p": 0.1, "seed": 3},
        **{"presence_penalty": 1.0, "frequency_penalty": -1.0, "repetition_penalty": 1.5},
        **{"stop": ["a"], "stop_token_ids": [3], "include_stop_str_in_output": True},
        **{"ignore_eos": True, "min_tokens": 2, "skip_special_tokens": False},
    }
    assert _params(**given, logit_bias={"7": 2.5}) == SamplingParams(
        max_tokens=16, logit_bias={7: 2.5}, **given
    )


def test_a_seed_of_minus_one_is_none() -> None:
    assert _params(seed=-1).seed is None
    assert _params(seed=-2).seed == -2


def test_a_beam_search_is_as_wide_as_its_choices() -> None:
    params = _params(use_beam_search=True, n=3, length_penalty=0.5, early_stopping="never")
    wanted = BeamParams(width=3, length_penalty=0.5, early_stopping="never")
    assert (params.n, params.beam) == (3, wanted)
    assert _params(use_beam_search=True, temperature=0.0).beam == BeamParams(width=1)
    with pytest.raises(ConfigError, match="temperature: expected its default beside beam"):
        _params(use_beam_search=True, temperature=0.5)
    with pytest.raises(ApiError, match="only with use_beam_search"):
        _params(early_stopping=True)


@pytest.mark.parametrize("key", ["abc", "-1", "1.5", "", " 1", "1" * 30, "٣"])
def test_biases_are_of_token_ids(key: str) -> None:
    with pytest.raises(ApiError, match="logit_bias: expected token ids"):
        _params(logit_bias={key: 1.0})


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"bad_words": ["x"]}, "bad_words"),
        ({"allowed_token_ids": [1]}, "allowed_token_ids"),
        ({"cache_salt": "x"}, "cache_salt"),
        ({"spaces_between_special_tokens": False}, "spaces_between_special_tokens"),
        ({"stream_options": {"include_usage": True}}, "stream_options"),
        ({"stream": False, "stream_options": {}}, "stream_options"),
        ({"stream": True, "prompt_logprobs": 1}, "prompt_logprobs"),
        ({"stream": True, "use_beam_search": True}, "use_beam_search"),
    ],
)
def test_what_cannot_be_is_refused_by_name(body: dict[str, Any], param: str) -> None:
    with pytest.raises(ApiError) as caught:
        SamplingFields(**body).check_fields()
    assert (caught.value.status, caught.value.param) == (400, param)


def test_what_changes_nothing_is_accepted() -> None:
    SamplingFields(bad_words=[], allowed_token_ids=None, stream_options=None).check_fields()  # type: ignore[call-arg]


def test_a_field_nobody_knows_is_logged_without_its_value(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO, logger="paged.server"):
        SamplingFields(news="secret").check_fields()  # type: ignore[call-arg]
    assert "'news'" in caplog.text
    assert "secret" not in caplog.text
