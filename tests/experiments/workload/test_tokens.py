"""Token ids made of block ids: equal exactly where the ids say so."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.workload.errors import WorkloadError
from experiments.workload.tokens import SequenceTokens


def make(
    lengths: list[tuple[int, int]],
    prompt_ids: list[list[int]],
    output_ids: list[list[int]] | None = None,
    block_size: int = 4,
) -> SequenceTokens:
    columns = np.array(lengths, dtype=np.int64)
    as_arrays = [np.array(ids, dtype=np.int64) for ids in prompt_ids]
    return SequenceTokens(
        prompt_tokens=columns[:, 0],
        output_tokens=columns[:, 1],
        prompt_block_ids=as_arrays,
        output_block_ids=(
            None if output_ids is None else [np.array(ids, dtype=np.int64) for ids in output_ids]
        ),
        block_size=block_size,
    )


def test_equal_blocks_give_equal_tokens_and_tails_differ() -> None:
    tokens = make([(10, 3), (10, 3)], [[7, 10**15], [7, 8]])
    first, second = tokens.prompt(0), tokens.prompt(1)
    assert first.dtype == np.int32
    assert len(first) == len(second) == 10
    assert (first[:4] == second[:4]).all()
    assert not np.isin(first[4:], second[4:]).any()
    assert not np.isin(tokens.output(0), tokens.output(1)).any()


def test_partial_last_block_with_an_id_is_shared() -> None:
    tokens = make([(6, 2), (6, 2)], [[7, 8], [7, 8]])
    assert (tokens.prompt(0) == tokens.prompt(1)).all()
    assert not np.isin(tokens.output(0), tokens.output(1)).any()


def test_second_turn_repeats_prompt_and_output_of_the_first() -> None:
    # First turn: prompt [0, 6), output [6, 13); full blocks [0, 12) have ids.
    tokens = make([(6, 7), (15, 1)], [[1], [1, 2, 3]], [[2, 3], [4]])
    turn = np.concatenate([tokens.prompt(0), tokens.output(0)])
    assert (tokens.prompt(1)[:12] == turn[:12]).all()
    assert tokens.prompt(1)[12] != turn[12]


def test_repeated_reads_are_equal() -> None:
    tokens = make([(9, 5)], [[3, 1]])
    assert (tokens.prompt(0) == tokens.prompt(0)).all()
    assert len(tokens.output(0)) == 5


def test_more_tokens_than_int32_holds_are_refused() -> None:
    with pytest.raises(WorkloadError, match="use fewer requests"):
        make([(2**31, 1)], [[]])


@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, 6), max_size=4), st.integers(0, 3), st.integers(1, 9)),
        min_size=1,
        max_size=6,
    )
)
def test_a_token_stands_for_one_place_of_one_text(
    rows: list[tuple[list[int], int, int]],
) -> None:
    rows = [row for row in rows if len(row[0]) * 4 + row[1] > 0]
    if not rows:
        return
    tokens = make([(len(ids) * 4 + tail, out) for ids, tail, out in rows], [r[0] for r in rows])
    places: dict[int, tuple[object, int]] = {}
    for index, (ids, tail, _) in enumerate(rows):
        named = [(block_id, offset) for block_id in ids for offset in range(4)]
        own = [(f"request {index}", offset) for offset in range(tail + rows[index][2])]
        drawn = np.concatenate([tokens.prompt(index), tokens.output(index)]).tolist()
        assert len(drawn) == len(named) + len(own)
        for token, place in zip(drawn, named + own, strict=True):
            assert places.setdefault(token, place) == place
    assert len(set(places.values())) == len(places)
