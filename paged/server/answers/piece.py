"""What was added to one choice, in no endpoint's form yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paged.engine.logprobs import TokenLogprob
from paged.scheduler.request import FinishReason


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenEntry:
    """One token with its log-probability, which the first token of a prompt does not have.

    text: the characters that it completes; those of all tokens join to the text.
    data: its bytes; those of all tokens join to the text's UTF-8.
    top: the alternatives that were asked for, best first.
    """

    token: int
    text: str
    data: bytes
    logprob: float | None
    top: tuple[TokenLogprob, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of a choice. entries: None where nobody asked for log-probabilities."""

    text: str
    tokens: tuple[int, ...]
    entries: tuple[TokenEntry, ...] | None = None
    reason: FinishReason | None = None
    stopped_by: str | int | None = None


def joined(pieces: Sequence[Piece]) -> Piece:
    """Return all pieces of a choice, at least one, as one."""
    last = pieces[-1]
    entries = None
    if last.entries is not None:
        entries = tuple(entry for piece in pieces for entry in piece.entries or ())
    return Piece(
        text="".join(piece.text for piece in pieces),
        tokens=tuple(token for piece in pieces for token in piece.tokens),
        entries=entries,
        reason=last.reason,
        stopped_by=last.stopped_by,
    )
