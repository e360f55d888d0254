"""What distinguishes the answers of one endpoint from those of another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from paged.engine.request_stream import RequestStream
from paged.server.answers.piece import Piece


class Form(Protocol):
    """Puts pieces of choices into the form of an endpoint."""

    @property
    def whole_object(self) -> str:
        """What a whole answer is called in it."""
        ...

    @property
    def chunk_object(self) -> str:
        """What a chunk of a stream is called in it."""
        ...

    def opening(self, index: int) -> dict[str, Any] | None:
        """Return what a stream says of a choice before its first piece, if anything."""
        ...

    def chunks(self, index: int, piece: Piece, stream: RequestStream) -> list[dict[str, Any]]:
        """Return what a stream says of a piece; nothing for one that shows nothing."""
        ...

    def choice(self, index: int, piece: Piece, stream: RequestStream) -> dict[str, Any]:
        """Return a whole choice."""
        ...

    def extras(self, streams: Sequence[RequestStream]) -> dict[str, Any]:
        """Return what a whole answer says beside its choices."""
        ...
