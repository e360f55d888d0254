"""`GET /`: a page that shows the memory at work. Its files are here, and need no network."""

from __future__ import annotations

from importlib.resources import files

from fastapi import APIRouter, Request
from starlette.responses import Response

_HEADERS = {
    # Whatever a request's name holds, nothing is run or loaded but the files of this page.
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
_KINDS = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_SCRIPTS = ("main", "view", "blocks", "requests", "charts", "shadows", "chat", "load", "page")

FILES = {
    "/": "index.html",
    "/dashboard/icon.svg": "icon.svg",
    "/dashboard/style.css": "style.css",
    **{f"/dashboard/{name}.js": f"{name}.js" for name in _SCRIPTS},
}
"""Path of a request to file: there are no others, so a path never reaches the file system."""

router = APIRouter(include_in_schema=False)


async def dashboard(request: Request) -> Response:
    """Answer with a file of the page."""
    name = FILES[request.url.path]
    text = files("paged.server.dashboard").joinpath(name).read_text(encoding="utf-8")
    return Response(text, media_type=_KINDS[name.rpartition(".")[2]], headers=_HEADERS)


for _path in FILES:
    router.add_api_route(_path, dashboard, methods=["GET"])
