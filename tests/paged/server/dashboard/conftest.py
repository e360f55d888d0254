"""A browser, and a server whose pool is small."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from paged.engine.llm_config import LLMConfig
from paged.engine.loaded_model import load_model
from paged.server.config import ServerConfig
from paged.server.service import EngineService
from tests.helpers.live_server import LiveServer

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start the system's Chromium, without a window.

    For no longer than a module: playwright runs an event loop in this thread all the while, and
    no test of another module could run its own.
    """
    playwright = pytest.importorskip("playwright.sync_api")
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is on the path")
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def small() -> Iterator[LiveServer]:
    """Serve from so few blocks that requests push each other out."""
    options: dict[str, Any] = {"dtype": "float32", "device": "cpu", "max_model_len": 512}
    model = load_model(LLMConfig(model="tiny", **options))
    options = {"num_gpu_blocks_override": 96, "block_size": 16}
    options |= {"max_num_seqs": 32, "max_num_batched_tokens": 256}
    config = LLMConfig(model="tiny", **options)
    service = EngineService(config, model)
    server = LiveServer(service, ServerConfig(served_model_names=("<b>tiny</b>",)))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def page(browser: Any, small: LiveServer) -> Iterator[Any]:
    """Open the dashboard; an error in its scripts fails the test."""
    opened = browser.new_page(viewport={"width": 1440, "height": 1000})
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    opened.goto(small.url)
    opened.wait_for_selector("#map .block")
    yield opened
    opened.close()
    small.wait_until_empty()
    assert errors == []
