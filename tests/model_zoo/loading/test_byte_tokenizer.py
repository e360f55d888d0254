"""The tokenizer of `tiny`: bytes and two special tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model_zoo import tiny
from model_zoo.loading.byte_tokenizer import ByteTokenizer
from paged.errors import RequestRefused

TOKENIZER = ByteTokenizer()


@given(st.text())
def test_any_text_survives(text: str) -> None:
    ids = TOKENIZER.encode(text)
    assert ids[0] == tiny.BOS_ID
    assert TOKENIZER.encode(text, add_special_tokens=False) == ids[1:]
    assert TOKENIZER.decode(ids) == text
    assert b"".join(map(TOKENIZER.id_to_bytes, ids)) == text.encode()


def test_it_fits_the_model() -> None:
    assert TOKENIZER.vocab_size == tiny.CONFIG.vocab_size
    assert TOKENIZER.bos_id == tiny.CONFIG.bos_id
    assert TOKENIZER.eos_ids == set(tiny.CONFIG.eos_ids)
    assert TOKENIZER.special_ids == {tiny.BOS_ID, tiny.EOS_ID}


def test_special_tokens_are_shown_if_asked_for() -> None:
    assert TOKENIZER.decode([256, 104, 257], skip_special_tokens=False) == "<s>h</s>"


def test_chats_are_lines() -> None:
    messages = [{"role": "user", "content": "hi"}]
    assert TOKENIZER.has_chat_template
    assert TOKENIZER.apply_chat_template(messages) == "user: hi\nassistant: "
    assert TOKENIZER.apply_chat_template(messages, add_generation_prompt=False) == "user: hi\n"


def test_what_is_no_text_or_id_is_refused() -> None:
    with pytest.raises(RequestRefused, match="lone surrogate"):
        TOKENIZER.encode("\udc00")
    with pytest.raises(RequestRefused, match="got -1"):
        TOKENIZER.decode([-1])
