"""A dead engine: errors and 503 at once, then another engine with the same answers."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import NoReturn

import pytest

from paged.engine.frontend import Frontend
from paged.errors import ConfigError, IntegrityError
from paged.server import revival
from paged.server.revival import revive
from paged.server.service import EngineService
from tests.helpers.live_server import live_server, tiny_service

PATH = "/v1/completions"
BODY = {"prompt": "hello", "max_tokens": 5, "temperature": 0}


def die(frontend: Frontend) -> None:
    """Let the next step break the engine."""

    def step() -> NoReturn:
        raise IntegrityError("a block is owned twice")

    frontend.step = step  # type: ignore[method-assign]


@pytest.mark.parametrize("is_stream", [False, True])
def test_what_ran_gets_an_error_and_a_new_engine_serves(is_stream: bool) -> None:
    with live_server() as server:
        wanted = server.client.post(PATH, json=BODY).json()["choices"]
        server.ask(die)
        answer = server.client.post(PATH, json={**BODY, "stream": is_stream})
        if is_stream:
            error, done, _ = answer.text.split("\n\n")
            assert '"code":503' in error
            assert done == "data: [DONE]"
        else:
            assert answer.status_code == 503
            assert answer.headers["retry-after"] == "1"
            assert answer.json()["error"]["type"] == "ServiceUnavailableError"
        assert "block" not in answer.text
        health = server.client.get("/health")
        assert health.status_code == 503
        assert server.client.post(PATH, json=BODY).status_code == 503
        while server.client.get("/health").status_code != 200:
            pass
        assert server.client.post(PATH, json=BODY).json()["choices"] == wanted
        server.wait_until_empty()


def test_tries_that_fail_come_at_longer_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    pause = asyncio.sleep

    async def sleep(pause_s: float) -> None:
        pauses.append(pause_s)
        await pause(0)

    async def run() -> None:
        service: EngineService = tiny_service()
        tries = iter([ConfigError("no memory")] * 8 + [None])

        async def start() -> None:
            error = next(tries)
            if error is not None:
                raise error
            service.died.clear()

        monkeypatch.setattr(service, "start", start)
        # In this module alone: servers of other tests may sleep meanwhile.
        monkeypatch.setattr(revival, "asyncio", SimpleNamespace(sleep=sleep))
        service.died.set()
        task = asyncio.ensure_future(revive(service))
        while service.died.is_set():
            await pause(0)
        task.cancel()

    asyncio.run(run())
    assert pauses == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]
