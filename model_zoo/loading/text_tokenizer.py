"""A tokenizer of the `tokenizers` library, with what an engine asks of it besides."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import tokenizers

from model_zoo.loading.chat_template import ChatTemplate
from model_zoo.loading.token_bytes import (
    byte_level_bytes,
    check_token_id,
    sentencepiece_bytes,
    text_bytes,
)
from model_zoo.loading.tokenizer import Message
from paged.errors import ModelFileError


class TextTokenizer:
    """Implements the protocol `Tokenizer`.

    Texts are decoded as they are: spaces before punctuation stay, whatever a
    `clean_up_tokenization_spaces` asks for, so that text can stream byte by byte.
    """

    def __init__(
        self,
        backend: tokenizers.Tokenizer,
        *,
        source: str,
        bos_id: int | None,
        eos_ids: Iterable[int],
        template: ChatTemplate | None,
    ) -> None:
        self._backend = backend
        self._source = source
        self._template = template
        self._bytes: dict[int, bytes] = {}
        self._to_bytes = _spelling(backend)
        added = backend.get_added_tokens_decoder()
        self.bos_id = bos_id
        self.eos_ids = frozenset(eos_ids)
        self.special_ids = frozenset(token for token, added in added.items() if added.special)
        self.vocab_size = max(backend.get_vocab(with_added_tokens=True).values(), default=-1) + 1

    @property
    def has_chat_template(self) -> bool:
        """Whether apply_chat_template works."""
        return self._template is not None

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        """Return the ids of a text. Raises RequestRefused for one that has no UTF-8."""
        text_bytes(text)  # refused here, for the backend's error names no cause
        return self._backend.encode(text, add_special_tokens=add_special_tokens).ids

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """Return the text of the ids; those past the vocabulary stand for nothing."""
        check_token_id(min(ids, default=0))
        known = [token for token in ids if token < self.vocab_size]
        return self._backend.decode(known, skip_special_tokens=skip_special_tokens)

    def id_to_bytes(self, token_id: int) -> bytes:
        """Return the bytes of one token.

        SentencePiece vocabularies begin a text with a space, which decode alone drops.
        """
        found = self._bytes.get(token_id)
        if found is None:
            check_token_id(token_id)
            known = token_id < self.vocab_size
            token = self._backend.id_to_token(token_id) if known else None
            found = self._bytes[token_id] = b"" if token is None else self._to_bytes(token)
        return found

    def apply_chat_template(
        self,
        messages: Sequence[Message],
        *,
        add_generation_prompt: bool = True,
        **variables: object,
    ) -> str:
        """Return the prompt for a chat. Raises ModelFileError or RequestRefused."""
        if self._template is None:
            raise ModelFileError(
                f"{self._source} has no chat template: use plain prompts, or a model tuned"
                " for chats"
            )
        return self._template.render(
            messages, add_generation_prompt=add_generation_prompt, variables=variables
        )


def _spelling(backend: tokenizers.Tokenizer) -> Callable[[str], bytes]:
    """Return how this vocabulary spells bytes: its decoder is the only sign of it."""
    described = repr(backend.decoder)
    if "ByteLevel" in described:
        return byte_level_bytes
    return sentencepiece_bytes if "ByteFallback" in described else _utf8


def _utf8(token: str) -> bytes:
    return token.encode("utf-8")
