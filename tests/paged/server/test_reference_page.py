"""The page of endpoints tells of every field what it is, holds and means."""

from __future__ import annotations

import re

from paged.server.protocol.chat import ChatRequest
from paged.server.protocol.completion import CompletionRequest
from paged.server.reference_page import endpoint_sections, openapi_schema


def test_every_endpoint_and_every_field_has_a_row() -> None:
    page = "\n".join(endpoint_sections())
    for path in openapi_schema()["paths"]:
        assert f" {path}` |" in page
    for kind in (CompletionRequest, ChatRequest):
        for name in kind.model_fields:
            assert f"\n| `{name}` | " in page
        for name in kind.unsupported:
            assert f"`{name}`" in page.partition("### Known and refused")[2]


def test_rows_say_type_range_default_and_meaning() -> None:
    lines = "\n".join(endpoint_sections()).splitlines()
    for row in (
        r"| `n` | integer | 1 to 128 | `1` | choices to draw .*|",
        r"| `top_p` | number | above 0 to 1 | `1.0` | draw from .*|",
        r"| `seed` | integer | int64 | `null` | .*|",
        r"| `truncate_prompt_tokens` | integer | -1 or more | `null` | .*|",
        r"| `messages` | list of object | 1 or more items | required | .*|",
        r"| `stop` | string or list of string | 1 to 256 characters, at most 32 items | .*|",
        r"| `max_tokens` | integer | 0 or more | `16` | .*|",
        r"| `type` | `\"text\"` or `\"json_object\"` or `\"json_schema\"` |  | required | .*|",
        r"| `POST /v1/completions` | `CompletionRequest` | Complete prompts.*|",
    ):
        pattern = row.replace("|", r"\|")
        assert any(re.fullmatch(pattern, line) for line in lines), row


def test_errors_have_one_form_and_there_is_no_422() -> None:
    for path, item in openapi_schema()["paths"].items():
        for operation in item.values():
            assert set(operation["responses"]) == {"200", "4XX", "5XX"}, path
            schema = operation["responses"]["4XX"]["content"]["application/json"]["schema"]
            assert schema["properties"]["error"]["required"] == ["message", "type", "param", "code"]


def test_answers_that_stream_say_so() -> None:
    paths = openapi_schema()["paths"]
    for path in ("/v1/completions", "/v1/chat/completions"):
        content = paths[path]["post"]["responses"]["200"]["content"]
        assert set(content) == {"application/json", "text/event-stream"}
