"""`GET /v1/models`: what is served, and under which names."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from paged.server.config import ServerConfig
from paged.server.protocol.error import ApiError
from paged.server.routes.generation import service_of

router = APIRouter()


@router.get("/v1/models")
async def list_models(request: Request) -> dict[str, Any]:
    """List the model, once for each of its names."""
    config: ServerConfig = request.app.state.config
    return {
        "object": "list",
        "data": [_card(request, name) for name in config.served_model_names],
    }


@router.get("/v1/models/{name:path}")
async def get_model(name: str, request: Request) -> dict[str, Any]:
    """Describe one model."""
    config: ServerConfig = request.app.state.config
    if name not in config.served_model_names:
        raise ApiError(f"The model `{name:.200}` does not exist.", status=404, param="model")
    return _card(request, name)


def _card(request: Request, name: str) -> dict[str, Any]:
    model = service_of(request).model
    return {
        "id": name,
        "object": "model",
        "created": request.app.state.created_s,
        "owned_by": "paged",
        "root": model.name,
        "parent": None,
        "max_model_len": model.config.max_model_len,
    }
