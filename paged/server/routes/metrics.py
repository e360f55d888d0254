"""`GET /metrics`: what Prometheus scrapes."""

from __future__ import annotations

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import PlainTextResponse, Response

from paged.server.config import ServerConfig
from paged.server.metrics import render_metrics
from paged.server.routes.blocks import report_of

router = APIRouter()


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request) -> Response:
    """Answer with all metrics, as they are between two steps."""
    config: ServerConfig = request.app.state.config
    text = render_metrics(await report_of(request), model_name=config.model_name)
    return Response(text, media_type=CONTENT_TYPE_LATEST)
