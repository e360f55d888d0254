"""A model that says what a test wants it to say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from model_zoo.tiny import EOS_ID
from paged.engine.frontend import Frontend
from tests.helpers.live_server import LiveServer


@contextmanager
def scripted(server: LiveServer, text: str | bytes) -> Iterator[None]:
    """Let the tiny model write a text, a byte a token, and end it; one sequence at a time."""
    rest = list(text.encode() if isinstance(text, str) else text)

    def install(frontend: Frontend) -> None:
        executor: Any = frontend.engine.executor
        execute = executor.execute

        def say(batch: Any) -> Any:
            result = execute(batch)
            tokens = [rest.pop(0) if rest else EOS_ID for _ in result.tokens]
            drawn = np.array(tokens, np.int32)
            return replace(result, tokens=drawn, is_stopped=drawn == EOS_ID)

        executor.execute = say

    def remove(frontend: Frontend) -> None:
        del frontend.engine.executor.execute

    server.ask(install)
    try:
        yield
    finally:
        server.ask(remove)
