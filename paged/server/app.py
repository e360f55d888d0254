"""The HTTP application: routes, middleware and error bodies put together."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from paged.server.auth import AuthMiddleware
from paged.server.config import ServerConfig
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
from paged.server.short_way import ShortWay

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
        # Looking for somebody who wants it takes longer, for each request, than to read its body.
        telemetry={"tracing": False, "metrics": False, "logs": False},
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
    app.middleware_stack = _layered(app.build_middleware_stack(), config)
    return app


def add_routes(app: FastAPI) -> None:
    """Add all endpoints. Mutates: app."""
    for router in ROUTERS:
        app.include_router(router, responses=ERROR_RESPONSES)


def _layered(framework: ASGIApp, config: ServerConfig) -> ASGIApp:
    """Put around the framework what a request passes first, from the inside to the outside."""
    short_way = ShortWay(framework, [route for router in ROUTERS for route in router.routes])
    layered: ASGIApp = LimitsMiddleware(short_way, config.limits)
    if config.api_keys:
        layered = AuthMiddleware(layered, config.api_keys)
    if not config.allowed_origins:
        return layered
    # Outside of keys: a browser asks for permission without one.
    return CORSMiddleware(
        layered,
        allow_origins=config.allowed_origins,
        allow_methods=["*"],
        allow_headers=["*"],
    )
