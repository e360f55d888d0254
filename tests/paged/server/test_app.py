"""The application as a whole: what is served, and what errors look like."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from paged.server.app import create_app
from paged.server.config import ServerConfig
from paged.server.routes import models
from tests.helpers.live_server import tiny_service


def test_every_endpoint_of_the_contract_is_there(client: httpx.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert set(paths) >= {
        *("/v1/completions", "/v1/chat/completions", "/v1/models", "/v1/models/{name}"),
        *("/tokenize", "/detokenize", "/health", "/version", "/load", "/metrics", "/v1/blocks"),
    }


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/nowhere", 404), ("GET", "/v1/completions", 405), ("DELETE", "/health", 405)],
)
def test_errors_of_the_framework_have_openais_form(
    client: httpx.Client, method: str, path: str, status: int
) -> None:
    answer = client.request(method, path)
    assert answer.status_code == status
    error = answer.json()["error"]
    assert error["code"] == status
    assert error["message"].startswith(f"{method} {path}: ")
    if status == 405:
        assert answer.headers["allow"]


def test_a_bug_tells_nothing_of_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise ValueError("secret")

    monkeypatch.setattr(models, "service_of", fail)

    async def run() -> httpx.Response:
        app = create_app(tiny_service(), ServerConfig(served_model_names=("tiny",)))
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.get("/v1/models")

    answer = asyncio.run(run())
    assert answer.status_code == 500
    assert answer.json()["error"]["type"] == "InternalServerError"
    assert "secret" not in answer.text


def test_the_engine_lives_as_long_as_the_application() -> None:
    async def run() -> None:
        service = tiny_service()
        app = create_app(service, ServerConfig(served_model_names=("tiny",)))
        async with app.router.lifespan_context(app):
            assert service.is_healthy
            assert app.state.service is service
        assert not service.is_healthy
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(run())
