"""What the OpenAPI schema says of a range is what is accepted: a value at its end, none past it."""

from __future__ import annotations

from typing import Any

import pytest

from paged.errors import ConfigError
from paged.sampling_params import LIMITS, SamplingParams
from paged.server.protocol.chat import ChatRequest
from paged.server.protocol.completion import CompletionRequest
from paged.server.protocol.tokenize import DetokenizeRequest, TokenizeRequest

KINDS = (CompletionRequest, ChatRequest, TokenizeRequest, DetokenizeRequest)


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_has_a_meaning(kind: type[CompletionRequest]) -> None:
    schema = kind.model_json_schema()
    for part in (schema, *schema.get("$defs", {}).values()):
        assert [name for name, each in part["properties"].items() if not each["description"]] == []


def test_what_a_request_must_have_is_required() -> None:
    assert CompletionRequest.model_json_schema()["required"] == ["prompt"]
    assert ChatRequest.model_json_schema()["required"] == ["messages"]


@pytest.mark.parametrize("name", sorted(set(LIMITS) - {"seed", "max_tokens", "logprobs"}))
def test_numbers_have_the_ends_of_the_sampling_parameters(name: str) -> None:
    field = CompletionRequest.model_json_schema()["properties"][name]
    (number,) = (each for each in field["anyOf"] if each["type"] in ("integer", "number"))
    least, most = LIMITS[name]
    assert number.get("maximum") == most
    step = 1 if number["type"] == "integer" else 0.25
    if name == "top_p":
        assert number["exclusiveMinimum"] == 0.0
        _check_refused(name, 0.0)
    else:
        assert number["minimum"] == least
        _check_accepted(name, least)
        _check_refused(name, number["minimum"] - step)
    if most is not None:
        _check_accepted(name, most)
        _check_refused(name, most + step)


def _check_accepted(name: str, value: Any) -> None:
    given: dict[str, Any] = {name: value}
    SamplingParams(**{**given, "max_tokens": None})


def _check_refused(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=f"^{name}: "):
        _check_accepted(name, value)


def test_defaults_are_those_that_null_stands_for() -> None:
    completion, chat = (
        kind.model_json_schema()["properties"] for kind in (CompletionRequest, ChatRequest)
    )
    plain = SamplingParams()
    for name in ("n", "temperature", "top_p", "repetition_penalty", "skip_special_tokens"):
        assert completion[name]["default"] == getattr(plain, name)
    assert completion["max_tokens"]["default"] == CompletionRequest().params().max_tokens == 16
    assert chat["max_tokens"]["default"] is ChatRequest().params().max_tokens is None
    assert completion["top_k"]["default"] is plain.top_k is None
