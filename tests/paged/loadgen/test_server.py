"""The model that a server names first."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from paged.errors import ServerError
from paged.loadgen.client import Target
from paged.loadgen.server import find_model
from tests.helpers.fake_server import Script, fake_server


def test_the_first_model_is_found_with_the_key() -> None:
    with fake_server(Script()) as server:
        found = find_model(Target(url=server.url, model="", api_key="secret"))
    assert found.model == "fake"
    assert "authorization: bearer secret" in server.headers[0].lower()


def test_a_server_that_is_not_there_is_told() -> None:
    with fake_server(Script()) as server:
        pass
    with pytest.raises(ServerError, match=r"^http://127.*/v1/models: .*; is a server up\?"):
        find_model(Target(url=server.url, model=""))


@pytest.mark.parametrize(("status", "has_hint"), [(401, True), (403, True), (404, False)])
def test_a_key_that_is_wrong_is_told_apart(
    monkeypatch: pytest.MonkeyPatch, status: int, has_hint: bool
) -> None:
    def answer(url: str, **_: Any) -> httpx.Response:
        return httpx.Response(status, request=httpx.Request("GET", url))

    monkeypatch.setattr(httpx, "get", answer)
    with pytest.raises(ServerError, match=f"/v1/models: status {status}") as caught:
        find_model(Target(url="http://somewhere", model=""))
    assert ("--api-key" in str(caught.value)) == has_hint


def test_a_list_without_a_model_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for body in (b"{}", b"[]", b'{"data": []}', b"<html>", b'{"data": [7]}'):
        monkeypatch.setattr("tests.helpers.fake_server.MODELS", body)
        with fake_server(Script()) as server, pytest.raises(ServerError, match="--model"):
            find_model(Target(url=server.url, model=""))
