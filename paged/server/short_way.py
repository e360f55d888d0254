"""The short way of a request with a JSON body: past all layers of the framework."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.requests import Request
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from paged.server.protocol.error import error_response
from paged.server.protocol.json_route import JsonRoute


class ShortWay:
    """Answers what is posted to a `JsonRoute`, and leaves all else to the application behind it.

    The framework describes these routes and answers other methods. Its own way to them takes
    longer than all else that a request needs but for the tokenizer, and each event of a stream
    would pass its layers too.

    routes: of any kind.
    """

    def __init__(self, app: ASGIApp, routes: Iterable[BaseRoute]) -> None:
        self._app = app
        self._handlers = {
            route.path: route.get_route_handler()
            for route in routes
            if isinstance(route, JsonRoute)
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        handle = self._handlers.get(scope.get("path", "")) if _is_post(scope) else None
        if handle is None:
            await self._app(scope, receive, send)
            return
        try:
            response = await handle(Request(scope, receive))
        # Whatever it is, the client gets an error of the usual form.
        except Exception as error:
            response = error_response(error)
        await response(scope, receive, send)


def _is_post(scope: Scope) -> bool:
    return scope.get("method") == "POST"
