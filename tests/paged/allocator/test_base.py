"""Block moves: their length, and several sets as one."""

from __future__ import annotations

import numpy as np

from paged.allocator.base import NO_MOVES, BlockMoves, concat_moves


def _moves(src: list[int], dst: list[int]) -> BlockMoves:
    return BlockMoves(np.array(src, np.int64), np.array(dst, np.int64))


def test_no_moves_are_empty_and_of_the_right_type() -> None:
    assert len(NO_MOVES) == 0
    assert NO_MOVES.src.dtype == NO_MOVES.dst.dtype == np.int64


def test_length_counts_blocks() -> None:
    assert len(_moves([1, 2], [3, 4])) == 2


def test_joined_moves_keep_their_order() -> None:
    joined = concat_moves([_moves([1, 2], [3, 4]), NO_MOVES, _moves([5], [6])])
    assert joined.src.tolist() == [1, 2, 5]
    assert joined.dst.tolist() == [3, 4, 6]


def test_a_single_set_is_passed_on() -> None:
    only = _moves([1], [2])
    assert concat_moves([NO_MOVES, only]) is only
    assert concat_moves([NO_MOVES]) is NO_MOVES
    assert concat_moves([]) is NO_MOVES


def test_moves_without_a_group_are_made_in_all() -> None:
    moves = _moves([1], [2])
    assert moves.of(0) is moves
    assert moves.of(5) is moves


def test_moves_with_groups_are_made_in_their_own() -> None:
    first = BlockMoves(np.array([1, 2]), np.array([3, 4]), np.array([0, 2]))
    joined = concat_moves([first, NO_MOVES, BlockMoves(first.dst, first.src, np.array([2, 2]))])
    assert [len(joined.of(group)) for group in range(3)] == [1, 0, 3]
    assert joined.of(2).src.tolist() == [2, 3, 4]
    assert joined.of(2).dst.tolist() == [4, 1, 2]
