"""Mutants of the shipped kernels that survive, and why."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Survivor:
    """A mutant that is not found.

    Attributes:
        code: the line, without its indentation.
        befores: what may be replaced in it.
        is_fault: False where the mutant does what the original does: nothing is to be found.

    """

    file: str
    code: str
    befores: tuple[str, ...]
    why: str
    is_fault: bool = False


SURVIVORS = (
    Survivor(
        file="v0.cu",
        code="for (int i = 0; i < kLaneDims; ++i) {",
        befores=("<",),
        why="the dimensions of one more round lie past HEAD_DIM, where the loop goes on at once",
    ),
    Survivor(
        file="v2.cu",
        code="for (int split = blockIdx.z; split * kSplitKeys < seen.end; split += gridDim.z) {",
        befores=("<",),
        why="one more split has no keys, and is passed over",
    ),
    Survivor(
        file="v2.cu",
        code="if (begin >= end) continue;",
        befores=(">=", "continue;"),
        why="a split without keys leaves sums of nothing, which add nothing",
    ),
    Survivor(
        file="prefill_tiled.cu",
        code="if (key + TILE_KEYS < seen.end) load_tile(keys, pages.keys, place, is_aligned);",
        befores=("<", "key + TILE_KEYS < seen.end"),
        why="a tile that no row sees is filled with zeros, and not used",
    ),
    Survivor(
        file="attend.cuh",
        code="row = RowSums{};",
        befores=("row = RowSums{};",),
        why="every caller passes sums that are new",
    ),
    Survivor(
        file="prefill_naive.cu",
        code="float element = 0.0f;",
        befores=("float element = 0.0f;",),
        why="it is of a row that does not exist, whose result goes nowhere",
    ),
    Survivor(
        file="prefill_tiled.cu",
        code="float maximum = kMinusInfinity;",
        befores=("float maximum = kMinusInfinity;",),
        why="the pattern of variables without a value is a large negative number, which serves",
        is_fault=True,
    ),
    Survivor(
        file="visible_keys.cuh",
        code="if (start[token] == token && start[token + 1] == token + 1) return token;",
        befores=("token",),
        why="the short cut is not taken, and the search finds the same sequence",
    ),
    Survivor(
        file="prefill_tiled.cu",
        code="if (all_seen) return;",
        befores=("return;",),
        why="the short cut is not taken, and no key is masked",
    ),
    Survivor(
        file="attend.cuh",
        code="for (int pass = 0; pass < kHeads; pass += Sums::kPassHeads) {",
        befores=("<",),
        why="one more pass has no heads",
    ),
    Survivor(
        file="half_tile.cuh",
        code="for (int step = first_step; step < end_step; ++step) {",
        befores=("<",),
        why="the chunks of one more step lie past the last, and are passed over",
    ),
    Survivor(
        file="half_tile.cuh",
        code="if (index >= kChunks) continue;",
        befores=(">=",),
        why="it takes a head_dim above 128 that is no multiple of 64, which no problem has",
        is_fault=True,
    ),
    Survivor(
        file="block_copy.cuh",
        code="return block.stride[kSlotAxis] == shape.head_dim && "
        "block.stride[kHeadAxis] == head &&",
        befores=("kSlotAxis",),
        why="no block counts as one row, and its rows are copied one by one",
    ),
)
