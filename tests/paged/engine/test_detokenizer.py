"""Streamed text equals the text decoded at once, and no character comes out in part."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from paged.engine.detokenizer import Detokenizer
from tests.helpers.byte_tokenizer import EOS, ByteTokenizer

FAMILY = "👩‍👧 漢字 é\ufffd!"


def streamed(pieces: list[bytes]) -> list[str]:
    tokenizer = ByteTokenizer(*pieces)
    detokenizer = Detokenizer(tokenizer)
    texts = [detokenizer.push(EOS + 1 + i) for i in range(len(pieces))]
    return [*texts, detokenizer.finish()]


def test_characters_come_out_whole() -> None:
    texts = streamed([bytes([value]) for value in FAMILY.encode()])
    assert [text for text in texts if text] == list(FAMILY)


@pytest.mark.parametrize("num_bytes", range(1, len(FAMILY.encode())))
def test_two_pieces_split_anywhere_join(num_bytes: int) -> None:
    data = FAMILY.encode()
    assert "".join(streamed([data[:num_bytes], data[num_bytes:]])) == FAMILY


@given(st.lists(st.binary(max_size=4), max_size=8))
@example([b"\xf0\x9f", b"a", b"\x91\xa9"])
@example([b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80"])
@example([b"\xe2\x82", b"\xe2\x82\xac"])
def test_any_bytes_stream_to_what_they_decode_to(pieces: list[bytes]) -> None:
    whole = b"".join(pieces).decode("utf-8", "replace")
    texts = streamed(pieces)
    assert "".join(texts) == whole
    # All but the end is given out as early as can be: only an unfinished character waits.
    assert len(texts[-1]) <= 1


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=12), st.data())
def test_no_replacement_appears_in_valid_text(text: str, data: st.DataObject) -> None:
    encoded = text.encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(encoded)), max_size=6)))
    places = zip([0, *cuts], [*cuts, len(encoded)], strict=True)
    texts = streamed([encoded[start:end] for start, end in places])
    assert "".join(texts) == text
    assert texts[-1] == ""
    assert "".join(texts).count("\ufffd") == text.count("\ufffd")


def test_a_character_cut_off_is_flushed_once() -> None:
    detokenizer = Detokenizer(ByteTokenizer())
    assert [detokenizer.push(value) for value in "é👩".encode()[:-1]] == ["", "é", "", "", ""]
    assert detokenizer.finish() == "\ufffd"
    assert detokenizer.finish() == ""


def test_control_tokens_are_skipped_or_kept() -> None:
    tokenizer = ByteTokenizer("a")
    for is_skipped, expected in ((True, ["", "a"]), (False, ["<end>", "a"])):
        detokenizer = Detokenizer(tokenizer, skip_special_tokens=is_skipped)
        assert [detokenizer.push(token) for token in (EOS, EOS + 1)] == expected


def test_a_skipped_token_does_not_break_a_character() -> None:
    detokenizer = Detokenizer(ByteTokenizer())
    first, second = "é".encode()
    assert [detokenizer.push(token) for token in (first, EOS, second)] == ["", "", "é"]
