"""A server of the tiny model on a real socket, in a thread of the test's process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import httpx

from paged.engine.frontend import Frontend
from paged.engine.llm_config import LLMConfig
from paged.server.app import create_app
from paged.server.config import ServerConfig
from paged.server.limits import Limits
from paged.server.runner import Listen, Runner
from paged.server.service import EngineService
from tests.helpers.released import check_released
from tests.helpers.tiny_llm import tiny_model

T = TypeVar("T")
CHAT = [{"role": "user", "content": "hi"}]


def tiny_service(
    *, num_blocks: int = 64, max_open_requests: int = 1024, **options: Any
) -> EngineService:
    """Make an engine of the tiny model that has not started; it takes the fields of LLMConfig."""
    options = {"block_size": 4, "max_num_seqs": 8, "device": "cpu"} | options
    config = LLMConfig(model="tiny", num_gpu_blocks_override=num_blocks, **options)
    return EngineService(config, tiny_model(), max_open_requests=max_open_requests)


class LiveServer:
    """A server that listens: its URL, its engine, and questions to it."""

    def __init__(
        self, service: EngineService, config: ServerConfig, listen: Listen | None = None
    ) -> None:
        listen = listen or Listen(port=0)
        self.service = service
        self._bound = listen.bound_socket()
        self.url = listen.address(self._bound)
        self.runner = Runner(create_app(service, config), service, config, listen)
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self._loop: asyncio.AbstractEventLoop | None = None
        # One for all requests: making one takes longer than most of them.
        self.client = httpx.Client(base_url=self.url, timeout=60)

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self.runner.serve(sockets=[self._bound])

    def start(self) -> None:
        """Listen, and return when requests are answered."""
        self._thread.start()
        while not self.runner.started:
            assert self._thread.is_alive()
            threading.Event().wait(0.01)

    def stop(self) -> None:
        """End what runs, then stop."""
        self.client.close()
        self.runner.should_exit = True
        self._thread.join(30)
        assert not self._thread.is_alive()

    def ask(self, function: Callable[[Frontend], T]) -> T:
        """Run a function on the engine's thread."""
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(self.service.ask(function), self._loop).result(30)

    def check_given_up(self) -> None:
        """Check that one step more ends all work, though what was asked for takes many.

        The step is made here: how many answers the engine gives between two of its own depends
        on which thread runs when.
        """
        assert not self.ask(_has_work_after_a_step)
        self.wait_until_empty(timeout_s=5)

    def wait_until_empty(self, timeout_s: float = 30.0) -> None:
        """Wait until nobody holds a block, and check that all are back."""
        pause = threading.Event()
        for _ in range(int(timeout_s / 0.02)):
            if not self.service.num_open_requests and not self.ask(lambda f: f.has_work):
                break
            pause.wait(0.02)
        self.ask(lambda frontend: check_released(frontend.engine.scheduler.allocator))


def _has_work_after_a_step(frontend: Frontend) -> bool:
    if frontend.has_work:
        frontend.step()
    return frontend.has_work


@contextmanager
def live_server(
    *,
    names: tuple[str, ...] = ("tiny",),
    api_keys: tuple[str, ...] = (),
    allowed_origins: tuple[str, ...] = (),
    limits: Limits | None = None,
    listen: Listen | None = None,
    **options: Any,
) -> Iterator[LiveServer]:
    """Serve the tiny model inside the block; it takes the fields of LLMConfig."""
    limits = limits or Limits()
    service = tiny_service(max_open_requests=limits.max_open_requests, **options)
    config = ServerConfig(
        served_model_names=names, api_keys=api_keys, allowed_origins=allowed_origins, limits=limits
    )
    server = LiveServer(service, config, listen)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def events_of(response: httpx.Response) -> list[str]:
    """Return the data of the events of a whole stream, `[DONE]` the last."""
    *events, rest = response.text.split("\n\n")
    assert rest == ""
    assert all(event.startswith("data: ") for event in events)
    return [event.removeprefix("data: ") for event in events]
