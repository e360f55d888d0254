"""A server that runs until it is told to stop, and then ends what it has begun."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
import ssl
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from paged.errors import ConfigError
from paged.server.app import create_app
from paged.server.banner import banner
from paged.server.config import ServerConfig
from paged.server.connection import Connection
from paged.server.service import EngineService

_log = logging.getLogger("paged.server")

LAST_WORDS_S = 1.0
"""For clients to read that their request is given up."""
MOST_LATE_S = 15
"""For all that is done once the time to drain is over; a step has ten seconds to end."""
_OBJECTS_PER_COLLECTION = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Listen:
    """Where to listen, and how to log.

    port: 0 takes a free one. ssl_keyfile, ssl_certfile: PEM files; both for https.
    log_level: of uvicorn: critical, error, warning, info, debug.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    ssl_keyfile: str | None = None
    ssl_certfile: str | None = None
    log_level: str = "warning"

    def __post_init__(self) -> None:
        if not 0 <= self.port < 2**16:
            raise ConfigError(f"port: expected 0 to {2**16 - 1}, got {self.port}")
        if (self.ssl_keyfile is None) != (self.ssl_certfile is None):
            raise ConfigError("ssl_keyfile and ssl_certfile: expected both or neither")

    def bound_socket(self) -> socket.socket:
        """Return a socket that has the address but does not listen yet.

        Raises: ConfigError for an address that cannot be had, and for a certificate of no use.
        """
        self._check_certificate()
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        bound = socket.socket(family, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((self.host, self.port))
        # careful: a name that DNS cannot have is a TypeError
        except (OSError, TypeError) as error:
            bound.close()
            raise ConfigError(f"cannot listen at {self.host}:{self.port}: {error}") from error
        return bound

    def _check_certificate(self) -> None:
        if self.ssl_certfile is None:
            return
        try:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.ssl_certfile, self.ssl_keyfile)
        except OSError as error:
            raise ConfigError(
                f"ssl_certfile: expected a certificate in {self.ssl_certfile} and its key in"
                f" {self.ssl_keyfile}, PEM both: {error}"
            ) from error

    def address(self, bound: socket.socket) -> str:
        """Return the URL of a bound socket."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        scheme = "http" if self.ssl_certfile is None else "https"
        return f"{scheme}://{host}:{bound.getsockname()[1]}"


class Runner(uvicorn.Server):
    """uvicorn with lines when it is ready and when it stops, and an end that is no failure."""

    def __init__(
        self, app: ASGIApp, service: EngineService, config: ServerConfig, listen: Listen
    ) -> None:
        limits = config.limits
        super().__init__(
            uvicorn.Config(
                app,
                lifespan="on",
                http=Connection,
                ws="none",
                log_level=listen.log_level,
                # A line takes as long as a good part of a request: none by default.
                access_log=listen.log_level in ("info", "debug"),
                server_header=False,
                proxy_headers=False,
                h11_max_incomplete_event_size=limits.max_header_bytes,
                timeout_keep_alive=limits.keep_alive_s,
                timeout_graceful_shutdown=limits.drain_timeout_s + MOST_LATE_S,
                ssl_keyfile=listen.ssl_keyfile,
                ssl_certfile=listen.ssl_certfile,
            )
        )
        self._service = service
        self._name = config.model_name
        self._listen = listen
        self._drain_timeout_s = limits.drain_timeout_s

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then say so."""
        await super().startup(sockets)
        for bound in sockets or []:
            address = self._listen.address(bound)
            print(await banner(self._service, address=address, name=self._name), flush=True)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End what runs, by an error where it is late or a second Ctrl-C has come."""
        # The terminal may be gone: that must not keep requests from their end.
        with suppress(OSError):
            print(
                f"stopping: {self._service.num_open_requests} requests may end within"
                f" {self._drain_timeout_s} s; Ctrl-C ends them now",
                file=sys.stderr,
                flush=True,
            )
        being_late = asyncio.create_task(self._end_late())
        await super().shutdown(sockets)
        being_late.cancel()
        if self.force_exit:
            await self._end_all()
            await self.lifespan.shutdown()

    async def _end_late(self) -> None:
        await asyncio.sleep(self._drain_timeout_s)
        _log.warning(
            "%d requests have not ended within %g s and are given up",
            self._service.num_open_requests,
            self._drain_timeout_s,
        )
        await self._end_all()

    async def _end_all(self) -> None:
        """Let all know who wait, then cut off who does not read that."""
        await self._service.stop()
        await self._wait_for_tasks()
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await self._wait_for_tasks()

    async def _wait_for_tasks(self) -> None:
        if self.server_state.tasks:
            await asyncio.wait(self.server_state.tasks, timeout=LAST_WORDS_S)


def run_server(
    service: EngineService, config: ServerConfig, listen: Listen, bound: socket.socket
) -> None:
    """Serve until SIGTERM, SIGHUP or Ctrl-C: what runs then may end, for some time.

    Raises: as `EngineService.start`; KeyboardInterrupt.
    """
    app = create_app(service, config)
    runner = Runner(app, service, config, listen)
    run_loop(_serve(runner, service, bound))


def run_loop(serving: Coroutine[Any, Any, None]) -> None:
    """Run a server to its end, on the fastest event loop that there is."""
    spare_collector()
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(serving)


def spare_collector() -> None:
    """Give the garbage collector of this process less to do.

    What exists is no concern of it any more: modules and weights are millions of objects that
    stay, and looking through them takes a third of a second each time. It looks rarely at what
    comes: a request makes hundreds of objects, which end without it.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS_PER_COLLECTION)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return what makes event loops: None is the standard library, for systems without uvloop."""
    if sys.platform == "win32":
        return None
    import uvloop

    return uvloop.new_event_loop


async def _serve(runner: Runner, service: EngineService, bound: socket.socket) -> None:
    # Before the application starts, for its errors would be printed and not raised.
    await service.start()
    # uvicorn raises the signal again at its end, when all is in order.
    signal.signal(signal.SIGTERM, _pass)
    # careful: under nohup it is ignored, and stays so
    if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        signal.signal(signal.SIGHUP, lambda _, frame: runner.handle_exit(signal.SIGTERM, frame))
    await runner.serve(sockets=[bound])


def _pass(_number: int, _frame: FrameType | None) -> None:
    """Do nothing."""
