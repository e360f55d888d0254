"""A server that runs until it is told to stop, and then ends what it has begun."""

from __future__ import annotations

import asyncio
import signal
import socket
from dataclasses import dataclass
from types import FrameType

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from paged.errors import ConfigError
from paged.server.app import create_app
from paged.server.banner import banner
from paged.server.config import ServerConfig
from paged.server.service import EngineService


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
        """Return a socket that has the address but does not listen yet. Raises ConfigError."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        bound = socket.socket(family, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((self.host, self.port))
        except OSError as error:
            bound.close()
            raise ConfigError(f"cannot listen at {self.host}:{self.port}: {error}") from error
        return bound

    def address(self, bound: socket.socket) -> str:
        """Return the URL of a bound socket."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        scheme = "http" if self.ssl_certfile is None else "https"
        return f"{scheme}://{host}:{bound.getsockname()[1]}"


class IdleProtocol(H11Protocol):
    """uvicorn's connection, which also ends where no whole request comes in time.

    uvicorn itself waits for ever for the end of headers.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Begin to watch the connection."""
        super().connection_made(transport)
        self._watch(None)

    def _watch(self, before: object) -> None:
        """Close a connection that has no request now and had none all the time since before."""
        if self.transport.is_closing():
            return
        cycle = self.cycle
        is_idle = cycle is None or cycle.response_complete  # pyright: ignore[reportUnnecessaryComparison]
        state = (cycle,) if is_idle else None
        if state is not None and state == before:
            self.transport.close()
            return
        self.loop.call_later(self.timeout_keep_alive, self._watch, state)


class Runner(uvicorn.Server):
    """uvicorn with a line when it is ready, and an end by SIGTERM that is no failure."""

    def __init__(
        self, app: ASGIApp, service: EngineService, config: ServerConfig, listen: Listen
    ) -> None:
        limits = config.limits
        super().__init__(
            uvicorn.Config(
                app,
                lifespan="on",
                # careful: httptools bounds no headers.
                http=IdleProtocol,
                ws="none",
                log_level=listen.log_level,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                h11_max_incomplete_event_size=limits.max_header_bytes,
                timeout_keep_alive=limits.keep_alive_s,
                timeout_graceful_shutdown=limits.drain_timeout_s,
                ssl_keyfile=listen.ssl_keyfile,
                ssl_certfile=listen.ssl_certfile,
            )
        )
        self._service = service
        self._name = config.model_name
        self._listen = listen

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then say so."""
        await super().startup(sockets)
        for bound in sockets or []:
            address = self._listen.address(bound)
            print(await banner(self._service, address=address, name=self._name), flush=True)


def run_server(
    service: EngineService, config: ServerConfig, listen: Listen, bound: socket.socket
) -> None:
    """Serve until SIGTERM or Ctrl-C: what runs then may end, for some time.

    Raises: as `EngineService.start`; KeyboardInterrupt.
    """
    app = create_app(service, config)
    runner = Runner(app, service, config, listen)
    asyncio.run(_serve(runner, service, bound))


async def _serve(runner: Runner, service: EngineService, bound: socket.socket) -> None:
    # Before the application starts, for its errors would be printed and not raised.
    await service.start()
    # uvicorn raises the signal again at its end, when all is in order.
    signal.signal(signal.SIGTERM, _pass)
    await runner.serve(sockets=[bound])


def _pass(_number: int, _frame: FrameType | None) -> None:
    """Do nothing."""
