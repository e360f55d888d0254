"""Text of a sequence as its tokens arrive, exact to the character.

A token is a piece of UTF-8 and need not end where a character does. What is complete is
given out at once; the pieces joined are the text of all tokens together.
"""

from __future__ import annotations

import codecs
from collections.abc import Set
from typing import Protocol


class TokenBytes(Protocol):
    """What a detokenizer asks of a tokenizer."""

    @property
    def special_ids(self) -> Set[int]:
        """Control tokens: text only for those who ask for it."""
        ...

    def id_to_bytes(self, token_id: int) -> bytes:
        """Return the bytes that one token stands for."""
        ...


class Detokenizer:
    """Decodes one sequence. Bytes that are no UTF-8 become U+FFFD, and nothing else does."""

    def __init__(self, tokenizer: TokenBytes, *, skip_special_tokens: bool = True) -> None:
        self._id_to_bytes = tokenizer.id_to_bytes
        self._skipped: Set[int] = tokenizer.special_ids if skip_special_tokens else frozenset[int]()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def push(self, token_id: int) -> str:
        """Take the next token and return the characters it completes. O(its bytes)."""
        if token_id in self._skipped:
            return ""
        return self._decoder.decode(self._id_to_bytes(token_id))

    def finish(self) -> str:
        """Return what stands for a character that was cut off; nothing the second time."""
        text = self._decoder.decode(b"", final=True)
        self._decoder.reset()
        return text
