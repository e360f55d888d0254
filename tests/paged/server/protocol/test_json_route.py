"""JSON as a strict parser reads it, into models."""

from __future__ import annotations

import json

import pytest
from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.testclient import TestClient
from pydantic import BaseModel, ConfigDict
from starlette.responses import PlainTextResponse, Response

from paged.server.protocol.json_route import JsonRoute, read_json

JSON = "application/json"


class Body(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")

    a: int | None = None


def test_a_body_is_what_python_reads() -> None:
    body = {"a": 1, "more": [1, 2.5, None, True, "家\u0000"], "b": {"c": 10**30}}
    read = read_json(Body, JSON, json.dumps(body).encode())
    assert read.model_dump() == body


@pytest.mark.parametrize(
    "body", [b"{", b'"\\ud800"', b'{"\\udfff": 1}', b"[" * 100_000, b"1" * 5000, b'"\xff"']
)
def test_others_are_no_json(body: bytes) -> None:
    with pytest.raises(RequestValidationError) as caught:
        read_json(Body, JSON, body)
    assert caught.value.errors()[0]["type"] == "json_invalid"


@pytest.mark.parametrize(
    ("content_type", "is_read"),
    [
        *((JSON, True), ("Application/JSON; charset=utf-8", True), ("application/x+json", True)),
        *((None, False), ("text/json", False), ("application/jsonp", False), ("json", False)),
    ],
)
def test_a_body_says_that_it_is_json(content_type: str | None, is_read: bool) -> None:
    if is_read:
        assert read_json(Body, content_type, b'{"a": 1}') == Body(a=1)
        return
    with pytest.raises(RequestValidationError):
        read_json(Body, content_type, b'{"a": 1}')


@pytest.mark.parametrize(
    ("body", "place"), [(b'{"a": "1"}', ("body", "a")), (b"[]", ("body",)), (b"", ("body",))]
)
def test_what_is_wrong_is_named_by_its_place(body: bytes, place: tuple[str, ...]) -> None:
    with pytest.raises(RequestValidationError) as caught:
        read_json(Body, JSON, body)
    assert caught.value.errors()[0]["loc"] == place


def test_endpoints_answer_with_a_response_or_with_what_is_json() -> None:
    router = APIRouter(route_class=JsonRoute)

    @router.post("/text")
    async def text(body: Body, request: Request) -> Response:
        return PlainTextResponse(f"{request.url.path} {body.a}")

    @router.post("/object")
    async def an_object(body: Body, request: Request) -> dict[str, int | None]:
        return {"a": body.a}

    app = FastAPI()
    app.include_router(router)
    client = TestClient(app)
    assert client.post("/text", json={"a": 3}).text == "/text 3"
    assert client.post("/object", json={"a": 3}).json() == {"a": 3}
    schema = client.get("/openapi.json").json()["paths"]["/text"]["post"]
    assert "requestBody" in schema
