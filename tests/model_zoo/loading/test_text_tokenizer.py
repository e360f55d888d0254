"""What a tokenizer of the `tokenizers` library refuses, leaves out and stands for."""

from __future__ import annotations

import pytest
import tokenizers
from tokenizers import AddedToken, decoders, models, pre_tokenizers

from model_zoo.loading.chat_template import ChatTemplate
from model_zoo.loading.text_tokenizer import TextTokenizer
from paged.errors import ModelFileError, RequestRefused

LETTERS = {"a": 0, "b": 1, "\u0120": 2, "\u00c3": 3, "\u00a4": 4}


def byte_level(template: ChatTemplate | None = None) -> TextTokenizer:
    """Return a tokenizer of five bytes and two added tokens."""
    backend = tokenizers.Tokenizer(models.BPE(vocab=LETTERS, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_tokens([AddedToken("<end>", special=True), AddedToken("<think>", special=False)])
    return TextTokenizer(backend, source="some", bos_id=None, eos_ids=[5], template=template)


def test_bytes_join_to_the_text() -> None:
    tokenizer = byte_level()
    ids = tokenizer.encode("ab ä<think>a<end>")
    assert b"".join(map(tokenizer.id_to_bytes, ids)) == "ab ä<think>a<end>".encode()
    assert tokenizer.decode(ids) == "ab ä<think>a"
    assert tokenizer.decode(ids, skip_special_tokens=False) == "ab ä<think>a<end>"
    assert tokenizer.special_ids == {5}
    assert tokenizer.vocab_size == 7


def test_a_byte_of_a_character_is_no_character() -> None:
    tokenizer = byte_level()
    assert tokenizer.decode([3]) == "\ufffd"
    assert tokenizer.id_to_bytes(3) == b"\xc3"
    assert tokenizer.decode([3, 4]) == "ä"


def test_ids_of_a_padded_vocabulary_stand_for_nothing() -> None:
    tokenizer = byte_level()
    assert tokenizer.id_to_bytes(7) == b""
    assert tokenizer.id_to_bytes(2**40) == b""
    assert tokenizer.decode([0, 7, 2**40, 1]) == "ab"


def test_negative_ids_are_refused() -> None:
    for refused in (lambda: byte_level().decode([0, -1]), lambda: byte_level().id_to_bytes(-1)):
        with pytest.raises(RequestRefused, match="0 and above, got -1"):
            refused()


def test_a_text_without_utf8_is_refused() -> None:
    with pytest.raises(RequestRefused, match="lone surrogate at character 1"):
        byte_level().encode("a\ud800")


def test_spaces_before_punctuation_stay() -> None:
    tokenizer = byte_level()
    assert tokenizer.decode(tokenizer.encode("a b")) == "a b"


def test_a_vocabulary_without_a_decoder_is_text() -> None:
    backend = tokenizers.Tokenizer(models.WordLevel(vocab={"ä": 0, "[UNK]": 1}, unk_token="[UNK]"))
    tokenizer = TextTokenizer(backend, source="some", bos_id=0, eos_ids=[], template=None)
    assert tokenizer.id_to_bytes(0) == "ä".encode()


def test_chats_need_a_template() -> None:
    assert not byte_level().has_chat_template
    with pytest.raises(ModelFileError, match="some has no chat template"):
        byte_level().apply_chat_template([])
    template = ChatTemplate("{{ messages[0]['content'] }}{{ extra }}", source="", special_tokens={})
    tokenizer = byte_level(template)
    assert tokenizer.has_chat_template
    assert tokenizer.apply_chat_template([{"content": "hi"}], extra="!") == "hi!"
