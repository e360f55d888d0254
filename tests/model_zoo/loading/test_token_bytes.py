"""Spellings of bytes: GPT-2's alphabet and SentencePiece's marks."""

from __future__ import annotations

import pytest
from tokenizers import pre_tokenizers

from model_zoo.loading.token_bytes import byte_alphabet, byte_level_bytes, sentencepiece_bytes


def test_the_alphabet_spells_every_byte_once() -> None:
    alphabet = byte_alphabet()
    assert sorted(alphabet.values()) == list(range(256))
    assert set(alphabet) == set(pre_tokenizers.ByteLevel.alphabet())


@pytest.mark.parametrize("text", ["Hello world", "\n\t\r\x00\x7f\xa0\xad", "ä你😀"])
def test_it_is_the_spelling_of_the_tokenizers_library(text: str) -> None:
    splitter = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    ((spelled, _),) = splitter.pre_tokenize_str(text)
    assert byte_level_bytes(spelled) == text.encode()


def test_a_token_in_no_spelling_is_its_text() -> None:
    assert byte_level_bytes("a b") == b"a b"
    assert byte_level_bytes("<|im_end|>") == b"<|im_end|>"


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("<0x0A>", b"\n"),
        ("<0xFF>", b"\xff"),
        ("<0x0a>", b"<0x0a>"),
        ("<0x0A>x", b"<0x0A>x"),
        ("\u2581the", b" the"),
        ("ä", "ä".encode()),
    ],
)
def test_sentencepiece_tokens_are_bytes_or_text(token: str, expected: bytes) -> None:
    assert sentencepiece_bytes(token) == expected
