"""The HTTP application: routes, middleware and error bodies put together."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

from paged.server.auth import AuthMiddleware
from paged.server.config import ServerConfig
from paged.server.event_stream import StreamsMiddleware
from paged.server.intake import Intake
from paged.server.limits import LimitsMiddleware
from paged.server.protocol.error import ERROR_RESPONSES, add_error_handlers
from paged.server.revival import revive
from paged.server.routes import (
    blocks,
    chat,
    completions,
    dashboard,
    health,
    metrics,
    models,
    tokenize,
)
from paged.server.service import EngineService

ROUTERS = (
    *(completions.router, chat.router, models.router, tokenize.router, health.router),
    *(metrics.router, blocks.router, dashboard.router),
)


def create_app(service: EngineService, config: ServerConfig) -> FastAPI:
    """Build the application around an engine, which starts and stops with it.

    An engine that dies is replaced by another.

    `app.state` holds `service`, `config`, `intake` and `created_s` for the routes.
    """

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncGenerator[None]:
        if not service.is_healthy:
            await service.start()
        reviving = asyncio.create_task(revive(service))
        try:
            yield
        finally:
            reviving.cancel()
            await service.stop()

    app = FastAPI(
        title="paged",
        lifespan=lifespan,
        middleware=_middleware(config),
        docs_url=None,
        redoc_url=None,
    )
    app.state.service = service
    app.state.config = config
    app.state.intake = Intake(
        service.model, seed=service.config.seed, max_sequences=config.limits.max_sequences
    )
    app.state.created_s = int(time.time())
    add_error_handlers(app)
    add_routes(app)
    return app


def add_routes(app: FastAPI) -> None:
    """Add all endpoints. Mutates: app."""
    for router in ROUTERS:
        app.include_router(router, responses=ERROR_RESPONSES)


def _middleware(config: ServerConfig) -> list[Middleware]:
    """Return what a request passes, the outermost first."""
    layers = [Middleware(LimitsMiddleware, limits=config.limits), Middleware(StreamsMiddleware)]
    if config.api_keys:
        layers.insert(0, Middleware(AuthMiddleware, keys=config.api_keys))
    if config.allowed_origins:
        # Outside of keys: a browser asks for permission without one.
        cors = Middleware(
            CORSMiddleware,
            allow_origins=config.allowed_origins,
            allow_methods=["*"],
            allow_headers=["*"],
        )
        layers.insert(0, cors)
    return layers
