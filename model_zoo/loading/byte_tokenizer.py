"""The tokenizer of `tiny`: a token is a byte of UTF-8."""

from __future__ import annotations

from collections.abc import Sequence

from model_zoo.loading.chat_template import ChatTemplate
from model_zoo.loading.token_bytes import check_token_id, text_bytes
from model_zoo.loading.tokenizer import Message
from model_zoo.tiny import BOS_ID, EOS_ID, NUM_BYTES

_TEMPLATE = (
    "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)


class ByteTokenizer:
    """Implements the protocol `Tokenizer`; no text spells a special token."""

    def __init__(self, *, chat_template: str | None = None) -> None:
        self.bos_id = BOS_ID
        self.eos_ids = frozenset({EOS_ID})
        self.special_ids = frozenset({BOS_ID, EOS_ID})
        self.vocab_size = max(NUM_BYTES, BOS_ID + 1, EOS_ID + 1)
        self.has_chat_template = True
        self._template = ChatTemplate(chat_template or _TEMPLATE, source="tiny", special_tokens={})

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        """Return the bytes of a text. Raises RequestRefused for one that has no UTF-8."""
        encoded = list(text_bytes(text))
        return [BOS_ID, *encoded] if add_special_tokens else encoded

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """Return the text of the ids."""
        names = {} if skip_special_tokens else {BOS_ID: b"<s>", EOS_ID: b"</s>"}
        return b"".join(names.get(i) or self.id_to_bytes(i) for i in ids).decode(errors="replace")

    def id_to_bytes(self, token_id: int) -> bytes:
        """Return the byte; special tokens stand for none."""
        check_token_id(token_id)
        return bytes([token_id]) if token_id < NUM_BYTES else b""

    def apply_chat_template(
        self,
        messages: Sequence[Message],
        *,
        add_generation_prompt: bool = True,
        **variables: object,
    ) -> str:
        """Return one line for each message."""
        return self._template.render(
            messages, add_generation_prompt=add_generation_prompt, variables=variables
        )
