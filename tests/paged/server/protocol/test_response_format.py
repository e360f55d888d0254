"""Grammars in requests: every field that asks for one, what they come to, and what is refused."""

from __future__ import annotations

import json
import re
from typing import Any, Literal

import httpx
import openai
import pytest
from pydantic import BaseModel, Field, ValidationError

from paged.errors import ConfigError
from paged.grammar import Grammar
from paged.server.protocol.error import ApiError
from paged.server.protocol.response_format import GrammarFields
from tests.helpers.live_server import LiveServer, events_of

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
SMALL = {
    "type": "object",
    "properties": {"a": {"type": "integer", "minimum": 0, "maximum": 99}},
    "required": ["a"],
    "additionalProperties": False,
}
COMPACT = {str(ord(" ")): -100, str(ord("\n")): -100}


def _format(**values: Any) -> dict[str, Any]:
    return {"response_format": values}


@pytest.mark.parametrize(
    ("body", "grammar"),
    [
        ({}, None),
        ({"guided_json": None, "response_format": None}, None),
        (_format(type="text"), None),
        (_format(type="json_object"), Grammar.json_object()),
        (_format(type="json_object", schema=SCHEMA), Grammar.json_schema(SCHEMA)),
        (
            _format(
                type="json_schema", json_schema={"name": "x", "strict": True, "schema": SCHEMA}
            ),
            Grammar.json_schema(SCHEMA),
        ),
        ({"guided_json": SCHEMA}, Grammar.json_schema(SCHEMA)),
        ({"guided_json": json.dumps(SCHEMA)}, Grammar.json_schema(SCHEMA)),
        ({"guided_regex": "a+"}, Grammar.regex("a+")),
        ({"guided_choice": ["a", "b"]}, Grammar.choice(["a", "b"])),
        ({"guided_grammar": 'start: "a"'}, Grammar.lark('start: "a"')),
        ({"structured_outputs": {"json": SCHEMA}}, Grammar.json_schema(SCHEMA)),
        ({"structured_outputs": {"regex": "a+"}}, Grammar.regex("a+")),
        ({"structured_outputs": {"choice": ["a"]}}, Grammar.choice(["a"])),
        ({"structured_outputs": {"grammar": "start: /a/"}}, Grammar.lark("start: /a/")),
        ({"structured_outputs": {"json_object": True}}, Grammar.json_object()),
        ({"structured_outputs": {"disable_fallback": False, "json_object": False}}, None),
        ({"guided_regex": "a", **_format(type="text")}, Grammar.regex("a")),
    ],
    ids=str,
)
def test_each_field_asks_for_its_grammar(body: dict[str, Any], grammar: Grammar | None) -> None:
    assert GrammarFields.model_validate(body).grammar() == grammar


@pytest.mark.parametrize(
    ("body", "param"),
    [
        (_format(type="json_schema"), "response_format"),
        (_format(type="json_schema", json_schema={"name": "x"}), "response_format"),
        ({"guided_regex": "a", "guided_choice": ["a"]}, "guided_regex"),
        ({"guided_regex": "a", **_format(type="json_object")}, "guided_regex"),
        ({"structured_outputs": {"regex": "a", "json_object": True}}, "structured_outputs"),
        ({"structured_outputs": {"structural_tag": "{}"}}, "structured_outputs"),
        ({"structured_outputs": {"disable_any_whitespace": True}}, "structured_outputs"),
    ],
    ids=str,
)
def test_what_contradicts_itself_is_refused(body: dict[str, Any], param: str) -> None:
    with pytest.raises(ApiError) as caught:
        GrammarFields.model_validate(body).grammar()
    assert (caught.value.status, caught.value.param) == (400, param)
    assert caught.value.message.startswith(f"{param}: ")


def test_an_empty_one_is_no_grammar() -> None:
    for body in ({"guided_choice": []}, {"guided_regex": ""}, {"guided_json": ""}):
        with pytest.raises(ConfigError, match=r"^grammar\."):
            GrammarFields.model_validate(body).grammar()


@pytest.mark.parametrize(
    "body", [_format(type="sound"), _format(), {"guided_choice": "a"}, {"guided_regex": 1}], ids=str
)
def test_what_has_another_type_is_malformed(body: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        GrammarFields.model_validate(body)


def test_a_grammar_that_gets_too_complex_is_an_error_of_its_request(client: httpx.Client) -> None:
    many = {"type": "object", "properties": {f"p{i}": {"type": "string"} for i in range(1200)}}
    response = _complete(client, guided_json=many)
    assert response.status_code == 400
    assert response.json()["error"]["message"].startswith("grammar: ")
    assert _complete(client, guided_choice=["ok"]).json()["choices"][0]["text"] == "ok"


def _complete(client: httpx.Client, **body: Any) -> httpx.Response:
    given = {"prompt": "hello", "max_tokens": 40, "seed": 1, "logit_bias": COMPACT, **body}
    return client.post("/v1/completions", json=given)


def test_completions_follow_a_grammar(client: httpx.Client) -> None:
    answer = _complete(client, n=3, guided_regex="[a-f]{4,8}!").json()
    assert len(answer["choices"]) == 3
    for choice in answer["choices"]:
        assert re.fullmatch("[a-f]{4,8}!", choice["text"])
        assert choice["finish_reason"] == "stop"


def test_a_streamed_chat_is_the_json_that_was_asked_for(client: httpx.Client) -> None:
    body = {
        "messages": [{"role": "user", "content": "hi"}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": SMALL}},
        "logit_bias": COMPACT,
        "stream": True,
    }
    *events, done = events_of(client.post("/v1/chat/completions", json=body))
    assert done == "[DONE]"
    deltas = [choice["delta"] for event in events for choice in json.loads(event)["choices"]]
    value = json.loads("".join(delta.get("content") or "" for delta in deltas))
    assert list(value) == ["a"]
    assert 0 <= value["a"] <= 99


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"guided_regex": "a("}, "guided_regex"),
        ({"structured_outputs": {"regex": "(?=a)"}}, "structured_outputs"),
        ({"guided_json": "{"}, "guided_json"),
        (_format(type="json_object", schema={"type": "frog"}), "response_format"),
        (_format(type="sound"), "response_format"),
        ({"guided_choice": []}, "guided_choice"),
        ({"guided_json": {"multipleOf": 99991}}, "guided_json"),
    ],
    ids=str,
)
def test_a_bad_grammar_is_a_bad_request(
    client: httpx.Client, body: dict[str, Any], param: str
) -> None:
    response = _complete(client, **body)
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["param"] == param
    assert error["message"].startswith(f"{param}: ")
    assert _complete(client, guided_choice=["ok"]).json()["choices"][0]["text"] == "ok"


class Weather(BaseModel):
    """What a client of OpenAI's SDK asks for by its own type."""

    sky: Literal["sun", "rain"]
    degrees: int = Field(ge=-20, le=45)


def test_openais_client_parses_into_its_users_type(server: LiveServer) -> None:
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="none") as client:
        answer = client.chat.completions.parse(
            model="tiny",
            messages=[{"role": "user", "content": "hi"}],
            response_format=Weather,
            logit_bias=COMPACT,
            seed=5,
        )
    weather = answer.choices[0].message.parsed
    assert isinstance(weather, Weather)
    assert -20 <= weather.degrees <= 45
