"""Parameters by row: what a step gathers, rows used again, stop ids and least lengths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from paged.engine.sample_rows import SampleRows
from paged.engine.sampling_table import SamplingTable
from paged.sampling_params import BeamParams, SamplingParams

TOKENS = np.arange(32, dtype=np.int32).reshape(4, 8)


@pytest.fixture
def table() -> SamplingTable:
    return SamplingTable(4)


def admit(
    table: SamplingTable, rows: list[int], eos_ids: tuple[int, ...] = (), **values: Any
) -> None:
    params = SamplingParams(**values)
    indices = range(len(rows))
    table.admit(np.array(rows), indices, params, seed=7, num_prompt_tokens=3, eos_ids=eos_ids)


def select(table: SamplingTable, rows: list[int], num_tokens: int = 3) -> SampleRows:
    return table.select(
        np.array(rows),
        tokens=TOKENS,
        token_rows=np.array(rows),
        num_tokens=np.full(len(rows), num_tokens),
    )


def test_parameters_come_in_the_order_of_the_rows(table: SamplingTable) -> None:
    admit(table, [2], temperature=0.5, top_k=5, top_p=0.9, min_p=0.1)
    admit(table, [0, 3], temperature=0)
    found = select(table, [3, 2, 0], num_tokens=5)
    assert found.temperature.tolist() == [0.0, 0.5, 0.0]
    assert found.top_k.tolist() == [2**31 - 1, 5, 2**31 - 1]
    assert found.top_p.tolist() == [1.0, 0.9, 1.0]
    assert found.min_p.tolist() == [0.0, 0.1, 0.0]
    assert found.sequence_index.tolist() == [1, 0, 0]
    assert found.draw_index.tolist() == [2, 2, 2]
    assert found.seed.tolist() == [7, 7, 7]
    assert (found.biases, found.banned, found.history) == (None, None, None)
    assert len(found.logprob_rows) == 0


def test_tiny_temperatures_and_beams_are_stored_as_greedy(table: SamplingTable) -> None:
    admit(table, [0], temperature=1e-6)
    admit(table, [1], beam=BeamParams(width=2))
    assert select(table, [0, 1]).temperature.tolist() == [0.0, 0.0]


def test_a_row_used_again_has_nothing_of_its_last_sequence(table: SamplingTable) -> None:
    admit(
        table,
        [1],
        eos_ids=(1, 2, 3),
        logit_bias={4: 1.0},
        min_tokens=9,
        presence_penalty=1.0,
        logprobs=3,
    )
    admit(table, [1], eos_ids=(1,))
    found = select(table, [1])
    assert (found.biases, found.banned, found.history) == (None, None, None)
    assert len(found.logprob_rows) == 0
    assert table.is_stopped(np.array([1, 1]), np.array([1, 2], np.int32)).tolist() == [True, False]


def test_logprobs_are_asked_for_by_some(table: SamplingTable) -> None:
    admit(table, [0], logprobs=0)
    admit(table, [1])
    admit(table, [2], logprobs=4)
    found = select(table, [2, 1, 0])
    assert found.logprob_rows.tolist() == [0, 2]
    assert found.num_logprobs.tolist() == [4, 0]


def test_biases_are_placed_by_draw(table: SamplingTable) -> None:
    admit(table, [0])
    admit(table, [1, 2], logit_bias={9: 1.5, 4: -2.0})
    biases = select(table, [2, 0, 1]).biases
    assert biases is not None
    assert biases.rows.tolist() == [0, 0, 2, 2]
    assert biases.tokens.tolist() == [9, 4, 9, 4]
    assert biases.values.tolist() == [1.5, -2.0, 1.5, -2.0]


def test_stop_ids_are_banned_until_the_least_length(table: SamplingTable) -> None:
    admit(table, [0], eos_ids=(5, 6), stop_token_ids=[8, 5], min_tokens=2)
    admit(table, [1], eos_ids=(5, 6))
    banned = select(table, [1, 0], num_tokens=4).banned
    assert banned is not None
    assert banned.rows.tolist() == [1, 1, 1]
    assert sorted(banned.tokens.tolist()) == [5, 6, 8]
    assert np.isneginf(banned.values).all()
    assert select(table, [1, 0], num_tokens=5).banned is None


def test_a_sequence_stops_at_its_own_ids(table: SamplingTable) -> None:
    admit(table, [0], eos_ids=(5,), stop_token_ids=[8])
    admit(table, [1], eos_ids=(5,), stop_token_ids=[0], ignore_eos=True)
    admit(table, [2], eos_ids=(5,))
    rows = np.array([0, 0, 0, 1, 1, 2, 2])
    drawn = np.array([5, 8, 0, 5, 0, 5, 8], np.int32)
    expected = [True, True, False, False, True, True, False]
    assert table.is_stopped(rows, drawn).tolist() == expected
    assert table.is_stopped(np.array([3]), np.array([0], np.int32)).tolist() == [False]


def test_penalties_see_the_tokens_of_a_shared_prompt(table: SamplingTable) -> None:
    admit(table, [0])
    admit(table, [1, 3], frequency_penalty=0.5, repetition_penalty=1.2)
    history = table.select(
        np.array([0, 1, 3]),
        tokens=TOKENS,
        token_rows=np.array([0, 1, 1]),
        num_tokens=np.array([3, 3, 4]),
    ).history
    assert history is not None
    assert history.rows.tolist() == [1, 2]
    assert history.token_rows.tolist() == [1, 1]
    assert history.num_prompt_tokens.tolist() == [3, 3]
    assert history.num_tokens.tolist() == [3, 4]
    assert history.presence.tolist() == [0.0, 0.0]
    assert history.frequency.tolist() == [0.5, 0.5]
    assert history.repetition.tolist() == [1.2, 1.2]
    assert history.tokens is TOKENS


def test_a_search_for_long_outputs_fits_its_column(table: SamplingTable) -> None:
    admit(table, [0], max_tokens=None, min_tokens=10**30, eos_ids=(1,))
    assert select(table, [0], num_tokens=8).banned is not None
