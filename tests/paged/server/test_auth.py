"""Keys: who is let in, and to what without one."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from paged.server import auth
from paged.server.routes.dashboard import FILES
from tests.helpers.live_server import live_server


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    """Serve with two keys."""
    with live_server(api_keys=("one", "zwei-ü"), allowed_origins=("http://page",)) as server:
        yield server.client


@pytest.mark.parametrize("header", ["Bearer one", "bearer one", "Bearer zwei-ü"])
def test_a_key_lets_in(client: httpx.Client, header: str) -> None:
    headers = [(b"authorization", header.encode())]
    assert client.get("/v1/models", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "one",
        "Bearer",
        "Bearer on",
        "Bearer one x",
        "Bearer  one",
        "Token one",
        "Basic b25lOm9uZQ==",
    ],
)
def test_anything_else_is_401_in_openais_form(client: httpx.Client, header: str | None) -> None:
    headers = {} if header is None else {"authorization": header}
    answer = client.get("/v1/models", headers=headers)
    assert answer.status_code == 401
    error = answer.json()["error"]
    assert (error["type"], error["code"], error["param"]) == ("authentication_error", 401, None)
    assert "Bearer" in answer.headers["www-authenticate"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(("GET", "/docs"), ("GET", "/metrics"), ("GET", "/v1/blocks"), ("GET", "/version")),
        *(("POST", "/tokenize"), ("POST", "/v1/completions"), ("POST", "/detokenize")),
        *(("GET", "/openapi.json"), ("GET", "/nowhere"), ("GET", "/health/")),
    ],
)
def test_no_other_path_is_open(client: httpx.Client, method: str, path: str) -> None:
    assert client.request(method, path).status_code == 401


def test_health_a_page_without_contents_and_a_browsers_question_are_open(
    client: httpx.Client,
) -> None:
    for path in ("/health", *FILES):
        assert client.get(path).status_code == 200
    asked = {
        "origin": "http://page",
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization",
    }
    answer = client.options("/v1/completions", headers=asked)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == "http://page"
    other = client.options("/v1/completions", headers={**asked, "origin": "http://other"})
    assert "access-control-allow-origin" not in other.headers


def test_every_key_is_compared_in_constant_time(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[bytes] = []

    def compare(given: bytes, key: bytes) -> bool:
        compared.append(key)
        return given == key

    monkeypatch.setattr(auth.hmac, "compare_digest", compare)
    headers = {"authorization": "Bearer one"}
    assert client.get("/v1/models", headers=headers).status_code == 200
    assert compared == [b"one", "zwei-ü".encode()]
