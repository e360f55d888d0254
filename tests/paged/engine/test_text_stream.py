"""Tokens in, text out: stop strings over token borders, stop tokens, least lengths."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paged.engine.stop_strings import StopStrings
from paged.engine.text_stream import TextStream
from paged.sampling_params import SamplingParams
from tests.helpers.byte_tokenizer import EOS, ByteTokenizer


def stream_of(pieces: list[str | bytes], **values: Any) -> TextStream:
    return TextStream(ByteTokenizer(*pieces), SamplingParams(**values))


def push_all(stream: TextStream, count: int) -> list[str]:
    return [stream.push(EOS + 1 + i) for i in range(count)]


def test_a_stop_string_over_three_tokens_is_never_seen() -> None:
    stream = stream_of(["AB", "CD", "EF", "G"], stop="BCDE")
    assert push_all(stream, 4) == ["A", "", "", ""]
    assert stream.stop_string == "BCDE"
    assert (stream.finish(), stream.text) == ("", "A")


def test_a_stop_string_within_the_token_of_a_character_s_last_byte() -> None:
    end = "é".encode()
    stream = stream_of([b"a" + end[:1], end[1:] + b"b", b"c"], stop="é")
    assert push_all(stream, 1) == ["a"]
    assert stream.stop_string is None
    assert push_all(stream, 2)[1:] == [""]
    stream = stream_of([b"a" + end[:1], end[1:] + b"b"], stop="é", include_stop_str_in_output=True)
    assert push_all(stream, 2) == ["a", "é"]
    assert (stream.stop_string, stream.finish(), stream.text) == ("é", "", "aé")


def test_what_was_held_back_comes_out_at_the_end() -> None:
    stream = stream_of(["ab", b"\xc3"], stop="bx")
    assert push_all(stream, 2) == ["a", ""]
    assert stream.finish() == "b\ufffd"
    assert stream.finish() == ""
    assert (stream.text, stream.stop_string) == ("ab\ufffd", None)


@pytest.mark.parametrize("stop", ["xy", "y\ufffd"])
def test_a_character_cut_off_can_complete_nothing_unseen(stop: str) -> None:
    stream = stream_of(["x", "y", b"\xc3"], stop=[stop])
    text = "".join(push_all(stream, 3)) + stream.finish()
    assert text == stream.text == ("" if stop == "xy" else "x")
    assert stream.stop_string == stop


def test_a_stop_token_shows_only_if_stops_are_included() -> None:
    for is_included, expected in ((False, "a"), (True, "ab")):
        stream = stream_of(["a", "b"], include_stop_str_in_output=is_included)
        stream.push(EOS + 1)
        stream.push(EOS + 2, is_stop=True)
        stream.finish()
        assert stream.text == expected


def test_control_tokens_show_if_they_are_wanted() -> None:
    stream = stream_of(["a"], skip_special_tokens=False)
    assert [stream.push(EOS), stream.push(EOS + 1)] == ["<end>", "a"]
    assert stream_of([]).push(EOS) == ""


def test_stop_strings_count_beyond_the_least_length() -> None:
    stream = stream_of(["a.", ".", "b", "."], stop="..", min_tokens=1)
    # The dot of the first token is of the least length: it is no part of a match.
    assert push_all(stream, 4) == ["a.", "", ".b", ""]
    assert stream.finish() == "."
    stream = stream_of(["..", "..", "b"], stop="..", min_tokens=1)
    assert push_all(stream, 3) == ["..", "", ""]
    assert stream.text == ".."


def test_a_request_s_stops_are_built_once() -> None:
    params = SamplingParams(stop="b", n=2)
    stops = StopStrings(params.stop_strings)
    for _ in range(2):
        stream = TextStream(ByteTokenizer("ab"), params, stops)
        assert (stream.push(EOS + 1), stream.stop_string) == ("a", "b")


@given(
    st.lists(st.sampled_from([b"a", b"b", b"\xc3", b"\xa9", b"ab", "é".encode()]), max_size=10),
    st.lists(st.sampled_from(["ab", "é", "ba", "aé", "b"]), max_size=3),
    st.booleans(),
)
def test_a_stream_is_the_whole_text_up_to_the_stop(
    pieces: list[str | bytes], stops: list[str], is_included: bool
) -> None:
    stream = stream_of(pieces, stop=stops, include_stop_str_in_output=is_included)
    texts = [*push_all(stream, len(pieces)), stream.finish()]
    assert "".join(texts) == stream.text
    data = b"".join(piece.encode() if isinstance(piece, str) else piece for piece in pieces)
    whole = data.decode("utf-8", "replace")
    ends = [whole.find(stop) + len(stop) for stop in stops if stop in whole]
    if stream.stop_string is None:
        assert (stream.text, ends) == (whole, [])
    else:
        end = min(ends) - (0 if is_included else len(stream.stop_string))
        assert stream.text == whole[:end]
