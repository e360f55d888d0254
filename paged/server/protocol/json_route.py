"""Routes that read a JSON body into a model, strictly: its text is Unicode, its nesting bounded."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, get_type_hints

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json
from starlette.responses import JSONResponse, Response

Handle = Callable[[Request], Coroutine[Any, Any, Response]]


class JsonRoute(APIRoute):
    """A route whose endpoint takes `body`, a model, and `request`.

    FastAPI describes it; its own way from a body to an endpoint takes longer than all that this
    server does for a request, but for the tokenizer. An endpoint returns a response, or what is
    JSON.
    """

    def get_route_handler(self) -> Handle:
        """Return what answers a request."""
        endpoint: Callable[..., Coroutine[Any, Any, object]] = self.endpoint
        kind = _body_model(endpoint)

        async def handle_json(request: Request) -> Response:
            body = read_json(kind, request.headers.get("content-type"), await request.body())
            answer = await endpoint(body=body, request=request)
            return answer if isinstance(answer, Response) else JSONResponse(answer)

        return handle_json


def read_json(kind: type[BaseModel], content_type: str | None, data: bytes) -> BaseModel:
    """Read a body. Raises: RequestValidationError."""
    if not data:
        raise _malformed("missing", "Field required")
    if not _is_json(content_type):
        raise _malformed("model_attributes_type", "Input should be a valid object")
    try:
        # careful: unlike the parser of the standard library it refuses lone surrogates, which
        # no answer could repeat.
        return kind.model_validate(from_json(data))
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        raise RequestValidationError(
            [{**each, "loc": ("body", *each["loc"])} for each in found]
        ) from error
    except ValueError as error:
        raise _malformed("json_invalid", "JSON decode error", str(error)) from error


def _body_model(endpoint: Callable[..., object]) -> type[BaseModel]:
    hints = get_type_hints(endpoint)
    return hints["body"]


def _is_json(content_type: str | None) -> bool:
    kind, _, subtype = (content_type or "").partition(";")[0].strip().lower().partition("/")
    return kind == "application" and (subtype == "json" or subtype.endswith("+json"))


def _malformed(kind: str, message: str, error: str = "") -> RequestValidationError:
    return RequestValidationError(
        [{"type": kind, "loc": ("body",), "msg": message, "ctx": {"error": error}}]
    )
