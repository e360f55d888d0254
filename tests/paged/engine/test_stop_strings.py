"""Stop strings in streams, against a search of the whole text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paged.engine.stop_strings import StopStream, StopStrings


def pushed(stops: list[str], pieces: list[str], *, include_match: bool = False) -> list[str]:
    """List what comes out after each piece, and at the end; then the match, if any."""
    stream = StopStream(StopStrings(stops), include_match=include_match)
    texts = [stream.push(piece) for piece in pieces]
    return [*texts, stream.release(), stream.matched or ""]


def first_match(text: str, stops: list[str]) -> str | None:
    """Text up to the end of the match that ends first."""
    ends = [text.find(stop) + len(stop) for stop in stops if stop in text]
    return text[: min(ends)] if ends else None


def longest_prefix_at_end(text: str, stops: list[str]) -> int:
    """Characters at the end of text that a stop string may begin with."""
    lengths = (n for stop in stops for n in range(len(stop)) if text.endswith(stop[:n]))
    return max(lengths, default=0)


@pytest.mark.parametrize(
    ("stops", "pieces", "expected"),
    [
        (["DEFGHIJ"], ["ABC", "DEFG", "HI", "JKL"], ["ABC", "", "", "", "", "DEFGHIJ"]),
        (["DEFGHIJ"], ["ABCDEFG", "HI", "K"], ["ABC", "", "DEFGHIK", "", ""]),
        (["DEFGHIJ"], ["ABCDEFG", "HI"], ["ABC", "", "DEFGHI", ""]),
        (["all of it"], ["all", " of", " it"], ["", "", "", "", "all of it"]),
        (["aa", "aab"], ["a", "a", "b"], ["", "", "", "", "aa"]),
        (["aab", "aa"], ["xaab"], ["x", "", "aa"]),
        (["x", "x"], ["axb"], ["a", "", "x"]),
        (["b", "ab"], ["a", "b"], ["", "", "", "ab"]),
        (["abcX", "bc"], ["ab", "c"], ["", "a", "", "bc"]),
        (["aaab"], ["aaaa", "aab"], ["a", "aa", "", "aaab"]),
        (["\n\n"], ["a\n", "b\n", "\nc"], ["a", "\nb", "", "", "\n\n"]),
        (["é"], ["caf", "é!"], ["caf", "", "", "é"]),
        ([], ["abc"], ["abc", "", ""]),
    ],
)
def test_examples(stops: list[str], pieces: list[str], expected: list[str]) -> None:
    assert pushed(stops, pieces) == expected


def test_what_matched_can_be_included() -> None:
    assert pushed(["BC"], ["aB", "Cd"], include_match=True) == ["a", "BC", "", "BC"]


def test_nothing_follows_a_match() -> None:
    stream = StopStream(StopStrings(["."]))
    assert [stream.push("a.b"), stream.push("c"), stream.push("."), stream.release()] == [
        "a",
        "",
        "",
        "",
    ]
    assert stream.matched == "."


def test_after_a_release_the_search_starts_anew() -> None:
    stream = StopStream(StopStrings(["ab"]))
    assert stream.push("a") == ""
    assert stream.release() == "a"
    assert stream.push("b") == "b"
    assert stream.push("ab") == ""
    assert stream.matched == "ab"


def test_streams_of_one_request_do_not_know_each_other() -> None:
    stops = StopStrings(["ab"])
    one, other = StopStream(stops), StopStream(stops)
    assert (one.push("a"), other.push("b")) == ("", "b")
    assert (one.push("b"), one.matched, other.matched) == ("", "ab", None)


STOPS = st.lists(st.text("abc", min_size=1, max_size=4), max_size=4)


@given(STOPS, st.lists(st.text("abc", max_size=5), max_size=8), st.booleans())
def test_a_stream_is_cut_where_the_whole_text_would_be(
    stops: list[str], pieces: list[str], include_match: bool
) -> None:
    text = "".join(pieces)
    *texts, match = pushed(stops, pieces, include_match=include_match)
    expected = first_match(text, stops)
    if expected is None:
        assert ("".join(texts), match) == (text, "")
    else:
        assert match == max((stop for stop in stops if expected.endswith(stop)), key=len)
        cut = expected if include_match else expected[: len(expected) - len(match)]
        assert "".join(texts) == cut


@given(STOPS, st.lists(st.text("abc", max_size=5), max_size=8))
def test_no_more_is_held_back_than_may_begin_a_stop_string(
    stops: list[str], pieces: list[str]
) -> None:
    stream = StopStream(StopStrings(stops))
    text = out = ""
    for piece in pieces:
        text += piece
        out += stream.push(piece)
        if stream.matched is not None:
            return
        assert len(out) == len(text) - longest_prefix_at_end(text, stops)
