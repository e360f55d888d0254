"""Pieces of a choice joined."""

from __future__ import annotations

from paged.scheduler.request import FinishReason
from paged.server.answers.piece import Piece, TokenEntry, joined


def _entry(token: int) -> TokenEntry:
    return TokenEntry(token=token, text="x", data=b"x", logprob=-1.0, top=())


def test_pieces_join_in_order_and_end_as_the_last() -> None:
    first = Piece(text="a", tokens=(1,), entries=(_entry(1),))
    last = Piece(
        text="b", tokens=(2, 3), entries=(_entry(2),), reason=FinishReason.STOP, stopped_by="c"
    )
    whole = joined([first, last])
    assert (whole.text, whole.tokens) == ("ab", (1, 2, 3))
    assert whole.entries == (_entry(1), _entry(2))
    assert (whole.reason, whole.stopped_by) == (FinishReason.STOP, "c")


def test_without_log_probabilities_there_are_none() -> None:
    assert joined([Piece(text="a", tokens=(1,))]).entries is None
