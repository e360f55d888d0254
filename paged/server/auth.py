"""API keys: every route but health and the dashboard's files asks for one where any is set."""

from __future__ import annotations

import hmac
from collections.abc import Sequence

from starlette.types import ASGIApp, Receive, Scope, Send

from paged.server.protocol.error import ApiError
from paged.server.routes.dashboard import FILES

# A browser sends no key for a page; this one holds nothing but itself.
OPEN_PATHS = ("/health", *FILES)


class AuthMiddleware:
    """Lets requests with `Authorization: Bearer KEY` pass, and those for an open path."""

    def __init__(self, app: ASGIApp, keys: Sequence[str]) -> None:
        self._app = app
        self._keys = [key.encode() for key in keys]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, with 401 or by what is behind."""
        is_free = scope["type"] == "lifespan" or scope.get("path") in OPEN_PATHS
        if is_free or self._is_known(scope):
            await self._app(scope, receive, send)
            return
        error = ApiError(
            "expected the header Authorization: Bearer KEY with a key of this server", status=401
        )
        await error.response()(scope, receive, send)

    def _is_known(self, scope: Scope) -> bool:
        given = b""
        for name, value in scope["headers"]:
            if name == b"authorization":
                given = _key_of(value)
        # All keys are compared, so that the time tells nothing about which one is alike.
        matches = [hmac.compare_digest(given, key) for key in self._keys]
        return any(matches)


def _key_of(authorization: bytes) -> bytes:
    """Return the key that a header carries, nothing for one of another form."""
    scheme, _, key = authorization.partition(b" ")
    return key if scheme.lower() == b"bearer" else b""
