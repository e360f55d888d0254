"""Mutants of the shipped kernels that no check can find: they do what the original does."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Harmless:
    """A mutant without a fault.

    Attributes:
        code: the line, without its indentation.
        before: what was replaced in it.

    """

    file: str
    code: str
    before: str
    why: str


HARMLESS = (
    Harmless(
        file="v0.cu",
        code="for (int i = 0; i < kLaneDims; ++i) {",
        before="<",
        why="the dimensions of one more round lie past HEAD_DIM, where the loop goes on at once",
    ),
    Harmless(
        file="v2.cu",
        code="for (int split = blockIdx.z; split * kSplitKeys < seen.end; split += gridDim.z) {",
        before="<",
        why="one more split has no keys, and is passed over",
    ),
    Harmless(
        file="v2.cu",
        code="if (begin >= end) continue;",
        before=">=",
        why="a split without keys leaves sums of nothing, which add nothing",
    ),
    Harmless(
        file="prefill_tiled.cu",
        code="if (key + TILE_KEYS < seen.end) load_tile(keys, pages.keys, place, is_aligned);",
        before="<",
        why="a tile that no row sees is filled with zeros, and not used",
    ),
    Harmless(
        file="key_streams.cuh",
        code="for (int e = 0; e < Shape::kVector; ++e) {",
        before="<",
        why="an index past the end of a thread's own array: the compiler may, and does, take it "
        "that this never happens",
    ),
    Harmless(
        file="visible_keys.cuh",
        code="if (start[token] == token && start[token + 1] == token + 1) return token;",
        before="token",
        why="the short cut is not taken, and the search finds the same sequence",
    ),
)
