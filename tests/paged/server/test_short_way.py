"""Posted bodies pass by the framework; all else goes through it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel

from paged.errors import RequestRefused
from paged.server.protocol.json_route import JsonRoute
from paged.server.short_way import ShortWay

ERRORS = {
    "validation": RequestValidationError([{"type": "missing", "loc": ("body", "a"), "msg": "No"}]),
    "refusal": RequestRefused("too long"),
    "bug": ValueError("secret"),
}


class Body(BaseModel):
    a: int | str | None = None


router, plain = APIRouter(route_class=JsonRoute), APIRouter()


@router.post("/short")
async def short(body: Body, request: Request) -> dict[str, Any]:
    if body.a in ERRORS:
        raise ERRORS[str(body.a)]
    return {"a": body.a, "path": request.url.path}


@plain.post("/long")
async def long() -> None:
    """Be none of the routes for bodies."""


def _sent(body: bytes, **scope: Any) -> list[Any]:
    """Return what is sent, "framework" where it is asked."""
    sent: list[Any] = []

    async def framework(_scope: Any, _receive: Any, send: Any) -> None:
        await send("framework")

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"content-type", b"application/json")]
    whole = {"type": "http", "method": "POST", "path": "/short", "headers": headers}
    whole |= {"query_string": b"", "server": ("test", 80)}
    asyncio.run(ShortWay(framework, [*router.routes, *plain.routes])(whole | scope, receive, send))
    return sent


def test_a_posted_body_is_answered_without_the_framework() -> None:
    head, body = _sent(b'{"a": 3}')
    assert head["status"] == 200
    assert body["body"] == b'{"a":3,"path":"/short"}'


@pytest.mark.parametrize("scope", [{"method": "GET"}, {"path": "/short/"}, {"path": "/long"}])
def test_all_else_is_for_the_framework(scope: dict[str, str]) -> None:
    assert _sent(b"{}", **scope) == ["framework"]


def test_the_start_of_the_application_is_for_the_framework() -> None:
    sent: list[str] = []

    async def framework(scope: Any, _receive: Any, _send: Any) -> None:
        sent.append(scope["type"])

    unused: Any = None
    asyncio.run(
        ShortWay(framework, [*router.routes, *plain.routes])({"type": "lifespan"}, unused, unused)
    )
    assert sent == ["lifespan"]


@pytest.mark.parametrize(("name", "status"), [("validation", 400), ("refusal", 400), ("bug", 500)])
def test_errors_have_their_usual_form(
    name: str, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    head, body = _sent(b'{"a": "%b"}' % name.encode())
    assert head["status"] == status
    assert b'"code":%d' % status in body["body"]
    assert b"secret" not in body["body"]
    assert ("secret" in caplog.text) == (status == 500)
