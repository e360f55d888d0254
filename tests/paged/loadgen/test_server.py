"""The model that a server names first."""

from __future__ import annotations

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


def test_a_list_without_a_model_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for body in (b"{}", b"[]", b'{"data": []}', b"<html>", b'{"data": [7]}'):
        monkeypatch.setattr("tests.helpers.fake_server.MODELS", body)
        with fake_server(Script()) as server, pytest.raises(ServerError, match="--model"):
            find_model(Target(url=server.url, model=""))
