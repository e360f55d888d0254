"""One server of the tiny model for all tests that leave it as it was."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.helpers.live_server import LiveServer, live_server


@pytest.fixture(scope="session")
def server() -> Iterator[LiveServer]:
    """Serve for all tests together."""
    with live_server() as running:
        yield running


@pytest.fixture
def client(server: LiveServer) -> Iterator[httpx.Client]:
    """Yield a client of the shared server, which is empty again afterwards."""
    with httpx.Client(base_url=server.url, timeout=30) as session:
        yield session
    server.wait_until_empty()
