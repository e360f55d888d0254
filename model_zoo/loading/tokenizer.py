"""What the engine asks of a tokenizer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

Message = Mapping[str, object]
"""One turn of a chat: at least `role` and `content`."""


class Tokenizer(Protocol):
    """Text to token ids and back, exactly as the model's authors do it."""

    @property
    def vocab_size(self) -> int:
        """Ids are below it; the model's own vocabulary may be padded beyond."""
        ...

    @property
    def bos_id(self) -> int | None:
        """Starts every text, where the model wants that."""
        ...

    @property
    def eos_ids(self) -> frozenset[int]:
        """Each of them ends an answer."""
        ...

    @property
    def special_ids(self) -> frozenset[int]:
        """Control tokens, which decode leaves out if asked to."""
        ...

    @property
    def has_chat_template(self) -> bool:
        """Whether apply_chat_template works."""
        ...

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        """Return the ids of a text; special tokens spelled out in it become their ids."""
        ...

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """Return the text of the ids; bytes that are no UTF-8 become U+FFFD.

        Raises RequestRefused for an id outside of the vocabulary.
        """
        ...

    def id_to_bytes(self, token_id: int) -> bytes:
        """Return the bytes that one token stands for; those of a whole text join to its UTF-8.

        An id between the tokenizer's vocabulary and the model's padded one stands for none.
        Raises RequestRefused for a negative id.
        """
        ...

    def apply_chat_template(
        self,
        messages: Sequence[Message],
        *,
        add_generation_prompt: bool = True,
        **variables: object,
    ) -> str:
        """Return the prompt for a chat, by the model's own template.

        Encode it with add_special_tokens=False: the template writes what is needed.
        Raises ModelFileError if there is no template, RequestRefused if it refuses the messages.
        """
        ...
