"""`GET /v1/blocks`: who owns which block of the KV cache, now."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from paged.server.block_map import block_map
from paged.server.config import ServerConfig
from paged.server.routes.generation import service_of
from paged.server.watch import Report

router = APIRouter()


@router.get("/v1/blocks")
async def blocks(request: Request) -> Response:
    """Answer with the block map, as it is between two steps."""
    config: ServerConfig = request.app.state.config
    return JSONResponse(block_map(await report_of(request), model_name=config.model_name))


async def report_of(request: Request) -> Report:
    """Ask the engine for a report, made between two steps. Raises EngineStopped."""
    service = service_of(request)
    return await service.ask(lambda frontend: service.watch.report(frontend.engine))
