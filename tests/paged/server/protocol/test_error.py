"""Errors as clients see them."""

from __future__ import annotations

import json

import pytest

from paged.errors import (
    ConfigError,
    EngineStopped,
    IntegrityError,
    QueueFull,
    RequestRefused,
)
from paged.server.protocol.error import ApiError, api_error, malformed


@pytest.mark.parametrize(
    ("error", "status", "param"),
    [
        (ApiError("x", status=404, param="model"), 404, "model"),
        (ConfigError("top_p: expected a number"), 400, "top_p"),
        (ConfigError("the vocabulary is too small"), 400, None),
        (ConfigError("a sentence: of two parts"), 400, None),
        (RequestRefused("prompt: too long"), 400, None),
        (QueueFull("try again"), 429, None),
        (EngineStopped("it died"), 503, None),
        (IntegrityError("a block is owned twice"), 500, None),
        (ValueError("secret"), 500, None),
    ],
)
def test_each_error_has_its_status(error: Exception, status: int, param: str | None) -> None:
    answer = api_error(error)
    assert (answer.status, answer.param) == (status, param)
    body = json.loads(bytes(answer.response().body))
    assert set(body) == {"error"}
    assert (body["error"]["code"], body["error"]["param"]) == (status, param)
    if status == 500:
        assert str(error) not in answer.message
    else:
        assert answer.message == str(error)


def test_a_field_is_called_what_the_client_calls_it() -> None:
    answer = api_error(ConfigError("logprobs: expected 0 to 20"), {"logprobs": "top_logprobs"})
    assert (answer.message, answer.param) == ("top_logprobs: expected 0 to 20", "top_logprobs")


@pytest.mark.parametrize(("status", "header"), [(429, "1"), (503, "1"), (400, None), (500, None)])
def test_what_may_pass_says_when_to_try_again(status: int, header: str | None) -> None:
    assert ApiError("x", status=status).response().headers.get("retry-after") == header


def test_a_key_is_asked_for_by_a_header() -> None:
    assert ApiError("x", status=401).response().headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("found", "message", "param"),
    [
        ([], "the request is malformed", None),
        (
            [{"type": "json_invalid", "loc": ("body", 3), "ctx": {"error": "no"}}],
            "no valid JSON: no",
            None,
        ),
        ([{"type": "int", "loc": ("body", "n"), "msg": "expected 1"}], "n: expected 1", "n"),
        ([{"type": "int", "loc": ("body", "a", 3), "msg": "bad"}], "a: bad", "a"),
        ([{"type": "dict", "loc": ("body",), "msg": "bad"}], "expected a JSON object", None),
    ],
)
def test_a_malformed_body_is_told_by_its_first_fault(
    found: list[dict[str, object]], message: str, param: str | None
) -> None:
    error = malformed(found)
    assert message in error.message
    assert (error.status, error.param) == (400, param)
