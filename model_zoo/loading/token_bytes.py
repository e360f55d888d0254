"""Bytes: those of a text, and those that one token of a vocabulary stands for."""

from __future__ import annotations

import re
from functools import lru_cache

from paged.errors import RequestRefused

SPACE_MARK = "\u2581"
"""SentencePiece writes it for a space."""

_BYTE_TOKEN = re.compile(r"<0x([0-9A-F]{2})>")


@lru_cache(maxsize=1)
def byte_alphabet() -> dict[str, int]:
    """Return GPT-2's spelling: the printable character that stands for each byte.

    Printable bytes of Latin-1 stand for themselves, the others, in order, for the characters
    from 256 on. Source: Radford et al., 2019, the byte-level BPE of GPT-2.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(printable)]
    spelled = {chr(byte): byte for byte in printable}
    return spelled | {chr(256 + number): byte for number, byte in enumerate(others)}


def byte_level_bytes(token: str) -> bytes:
    """Return the bytes of a token in GPT-2's spelling; of one in no spelling, its UTF-8."""
    alphabet = byte_alphabet()
    if all(character in alphabet for character in token):
        return bytes(alphabet[character] for character in token)
    return token.encode("utf-8")


def sentencepiece_bytes(token: str) -> bytes:
    """Return the bytes of a SentencePiece token: `<0x0A>` is one byte, a mark is a space."""
    byte = _BYTE_TOKEN.fullmatch(token)
    if byte is not None:
        return bytes([int(byte[1], 16)])
    return token.replace(SPACE_MARK, " ").encode("utf-8")


def text_bytes(text: str) -> bytes:
    """Return the UTF-8 of a text. Raises RequestRefused for one that has none."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise RequestRefused(
            f"expected a text that UTF-8 can hold, got a lone surrogate at character"
            f" {error.start}; drop it"
        ) from error


def check_token_id(token_id: int) -> None:
    """Raise RequestRefused for a negative id."""
    if token_id < 0:
        raise RequestRefused(f"expected token ids of 0 and above, got {token_id}")
