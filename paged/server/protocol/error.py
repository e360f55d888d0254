"""Errors as clients see them: one body for all, and nothing of the server's insides."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from paged.errors import ConfigError, EngineStopped, PagedError, QueueFull, RequestRefused

RETRY_AFTER_S = 1

_TYPES = {
    400: "BadRequestError",
    401: "authentication_error",
    404: "NotFoundError",
    405: "MethodNotAllowedError",
    408: "RequestTimeoutError",
    413: "PayloadTooLargeError",
    429: "RateLimitError",
    431: "HeadersTooLargeError",
    499: "ClientClosedRequestError",
    500: "InternalServerError",
    501: "NotImplementedError",
    503: "ServiceUnavailableError",
}
_SCHEMA = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type", "param", "code"],
            "properties": {
                "message": {"type": "string"},
                "type": {"type": "string"},
                "param": {"type": ["string", "null"]},
                "code": {"type": "integer"},
            },
        }
    },
}
_CONTENT = {"application/json": {"schema": _SCHEMA}}
ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "The request is refused.", "content": _CONTENT},
    "5XX": {"description": "The server failed, or serves nothing now.", "content": _CONTENT},
}
"""What the OpenAPI schema of every endpoint says of errors."""

# What a client may mend by sending the same again later.
_PASSING = {429, 503}
_log = logging.getLogger("paged.server")


class ApiError(Exception):
    """An answer that is an error. param: the field of the request that is wrong."""

    def __init__(self, message: str, *, status: int = 400, param: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.param = param

    @property
    def body(self) -> dict[str, Any]:
        """What is sent as JSON, with the fields of OpenAI's errors."""
        error = {
            "message": self.message,
            "type": _TYPES.get(self.status, "APIError"),
            "param": self.param,
            "code": self.status,
        }
        return {"error": error}

    def response(self) -> Response:
        """Return the whole answer."""
        headers = {"Retry-After": str(RETRY_AFTER_S)} if self.status in _PASSING else {}
        if self.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        return JSONResponse(self.body, status_code=self.status, headers=headers)


def api_error(error: BaseException, names: Mapping[str, str] | None = None) -> ApiError:
    """Return what a client may know of an error.

    names: of the request's fields, by what sampling parameters call them.
    """
    if isinstance(error, ApiError):
        return error
    if isinstance(error, QueueFull):
        return ApiError(str(error), status=429)
    if isinstance(error, EngineStopped):
        return ApiError(str(error), status=503)
    if isinstance(error, ConfigError):
        name, colon, rest = str(error).partition(": ")
        if colon and name.replace(".", "").replace("_", "").isalnum():
            param = (names or {}).get(name, name)
            return ApiError(f"{param}: {rest}", param=param)
    if isinstance(error, ConfigError | RequestRefused):
        return ApiError(str(error))
    return ApiError("the server failed to answer this request; its log says why", status=500)


@contextmanager
def api_errors(names: Callable[[], Mapping[str, str]]) -> Generator[None, None, None]:
    """Turn what the library refuses inside the block into an ApiError, as `api_error` does.

    names: makes those of `api_error`, which most requests do not need.
    """
    try:
        yield
    except PagedError as error:
        raise api_error(error, names()) from error


def add_error_handlers(app: FastAPI) -> None:
    """Let an application answer every error with this body. Mutates: app."""
    for kind in (ApiError, PagedError, RequestValidationError):
        app.add_exception_handler(kind, _on_error)
    app.add_exception_handler(HTTPException, _on_http_error)
    app.add_exception_handler(Exception, _on_bug)


async def _on_error(_request: Request, error: Exception) -> Response:
    return error_response(error)


def error_response(error: Exception) -> Response:
    """Return the answer to a request that failed; what is the server's fault is logged."""
    if isinstance(error, RequestValidationError):
        return malformed(error.errors()).response()
    answer = api_error(error)
    if answer.status == 500:
        _log.error("a request failed", exc_info=error)
    return answer.response()


def malformed(found: Sequence[Any]) -> ApiError:
    """Return the error for what pydantic found in a body; it repeats nothing of the body."""
    if not found:
        return ApiError("the request is malformed")
    first = found[0]
    if first["type"] == "json_invalid":
        return ApiError(f"the body is no valid JSON: {first['ctx']['error']}")
    place = [str(part) for part in first["loc"][1:] if not isinstance(part, int)]
    if not place:
        return ApiError("expected a JSON object as the body, with Content-Type: application/json")
    return ApiError(f"{place[0]}: {first['msg']}", param=place[0])


async def _on_http_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        return api_error(error).response()
    asked = f"{request.method} {request.url.path:.200}"
    response = ApiError(f"{asked}: {error.detail}", status=error.status_code).response()
    response.headers.update(error.headers or {})
    return response


async def _on_bug(_request: Request, error: Exception) -> Response:
    return api_error(error).response()
