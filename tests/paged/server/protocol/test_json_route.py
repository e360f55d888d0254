"""JSON as a strict parser reads it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from fastapi import APIRouter

from paged.server.protocol.json_route import JsonRequest, JsonRoute


def _read(body: bytes) -> Any:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    return asyncio.run(JsonRequest({"type": "http", "headers": []}, receive).json())


def test_a_body_is_what_python_reads() -> None:
    body = {"a": [1, 2.5, None, True, "家\u0000"], "b": {"c": 10**30}}
    assert _read(json.dumps(body).encode()) == body


@pytest.mark.parametrize(
    "body", [b"", b"{", b'"\\ud800"', b'{"\\udfff": 1}', b"[" * 100_000, b"1" * 5000, b'"\xff"']
)
def test_others_are_no_json(body: bytes) -> None:
    with pytest.raises(json.JSONDecodeError):
        _read(body)


def test_routes_of_a_router_read_so() -> None:
    router = APIRouter(route_class=JsonRoute)

    @router.post("/")
    async def post() -> None: ...

    assert isinstance(router.routes[0], JsonRoute)
    assert router.routes[0].get_route_handler().__name__ == "handle_json"
