"""What the regression tests share: small engines, and a server of the tiny model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from tests.helpers.toy_engine import ToyEngine, make_toy_engine

if TYPE_CHECKING:
    from tests.helpers.live_server import LiveServer


@pytest.fixture
def make_engine() -> Callable[..., ToyEngine]:
    """Return a factory of engines; it takes the fields of both configurations."""
    return make_toy_engine


@pytest.fixture(scope="session")
def running() -> Iterator[LiveServer]:
    """Serve for all tests of reports about servers."""
    from tests.helpers.live_server import live_server

    with live_server() as started:
        yield started
        started.wait_until_empty()


@pytest.fixture
def server(running: LiveServer) -> Iterator[LiveServer]:
    """Yield the server, which must answer a plain request afterwards."""
    yield running
    body = {"prompt": "a", "max_tokens": 2}
    assert running.client.post("/v1/completions", json=body).status_code == 200
