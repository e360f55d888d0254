"""`GET /health`, `/version` and `/load`: is it there, what is it, how busy."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from fastapi import APIRouter, Request
from starlette.responses import Response

from paged.server.protocol.error import ApiError
from paged.server.routes.generation import service_of

router = APIRouter()


@router.get("/health", response_class=Response)
async def health(request: Request) -> Response:
    """Answer 200 while requests are served, 503 otherwise."""
    if not service_of(request).is_healthy:
        raise ApiError("the engine serves no requests", status=503)
    return Response()


@router.get("/version")
async def get_version() -> dict[str, str]:
    """Say which version of paged this is."""
    try:
        return {"version": version("paged")}
    except PackageNotFoundError:
        return {"version": "from source, not installed"}


@router.get("/load")
async def load(request: Request) -> dict[str, int]:
    """Say how many prompts are being answered or wait for it."""
    return {"server_load": service_of(request).num_open_requests}
