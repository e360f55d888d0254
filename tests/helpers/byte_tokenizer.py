"""A tokenizer for tests: ids are bytes, a few are pieces of text or control tokens."""

from __future__ import annotations

from collections.abc import Set

EOS = 256


class ByteTokenizer:
    """Ids 0 to 255 are bytes, 256 is a control token, then come the pieces it was given."""

    def __init__(self, *pieces: str | bytes) -> None:
        texts = [piece.encode() if isinstance(piece, str) else piece for piece in pieces]
        self._bytes = [bytes([value]) for value in range(256)] + [b"<end>", *texts]

    @property
    def special_ids(self) -> Set[int]:
        return {EOS}

    def id_to_bytes(self, token_id: int) -> bytes:
        return self._bytes[token_id]
