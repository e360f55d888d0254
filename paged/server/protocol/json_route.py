"""Bodies read by a strict parser: text in them is Unicode, and nesting has its bounds."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from pydantic_core import from_json
from starlette.responses import Response


class JsonRequest(Request):
    """A request whose JSON holds no lone surrogates, which no answer could repeat."""

    async def json(self) -> Any:
        """Return the body. Raises: JSONDecodeError."""
        try:
            return from_json(await self.body())
        except ValueError as error:
            # FastAPI knows no other error of a parser.
            raise json.JSONDecodeError(str(error), "", 0) from error


class JsonRoute(APIRoute):
    """A route that reads its body so."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of FastAPI for a request of ours."""
        handle = super().get_route_handler()

        async def handle_json(request: Request) -> Response:
            return await handle(JsonRequest(request.scope, request.receive))

        return handle_json
