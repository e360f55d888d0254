"""What one client may ask of the server, and the middleware that holds it to that."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from paged.server.protocol.error import ApiError


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds on requests.

    max_body_bytes, max_header_bytes: of one request.
    max_open_requests: prompts that were sent to the engine and have not ended.
    max_sequences: prompts times n of one request.
    body_timeout_s: for a body to arrive.
    keep_alive_s: for the next request on a connection, and for the first; some times as long for a
        client to take anything of its answer.
    drain_timeout_s: for what runs when the server is told to stop.
    """

    max_body_bytes: int = 8 * 2**20
    max_header_bytes: int = 64 * 2**10
    max_open_requests: int = 1024
    max_sequences: int = 1024
    body_timeout_s: float = 30.0
    keep_alive_s: int = 10
    drain_timeout_s: int = 60


class LimitsMiddleware:
    """Refuses headers and bodies that are too large or too slow, before anything reads them."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, with an error or by what is behind."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            self._check_headers(scope)
            body = await self._body(receive)
        except ApiError as error:
            await error.response()(scope, receive, send)
            return
        if body is not None:
            await self._app(scope, _replayed(body, receive), send)

    def _check_headers(self, scope: Scope) -> None:
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        num_bytes = sum(len(name) + len(value) for name, value in headers)
        num_bytes += len(scope["raw_path"] or b"") + len(scope["query_string"])
        if num_bytes > self._limits.max_header_bytes:
            raise ApiError(
                f"expected headers of at most {self._limits.max_header_bytes} bytes,"
                f" got {num_bytes}",
                status=431,
            )
        for name, value in headers:
            # careful: Python reads no number of more than 4300 digits, zeros or not.
            num_body_bytes = int(value.lstrip(b"0") or b"0") if name == b"content-length" else 0
            if num_body_bytes > self._limits.max_body_bytes:
                raise self._too_large()

    async def _body(self, receive: Receive) -> bytes | None:
        """Return the body, None if the client has gone."""
        parts: list[bytes] = []
        num_bytes = 0
        try:
            async with asyncio.timeout(self._limits.body_timeout_s):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    parts.append(message.get("body", b""))
                    num_bytes += len(parts[-1])
                    if num_bytes > self._limits.max_body_bytes:
                        raise self._too_large()
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError as error:
            raise ApiError(
                f"expected the body within {self._limits.body_timeout_s:g} s", status=408
            ) from error

    def _too_large(self) -> ApiError:
        return ApiError(
            f"expected a body of at most {self._limits.max_body_bytes} bytes", status=413
        )


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return what yields a body that was read already, and then what else comes."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return first.pop() if first else await receive()

    return replay
