"""Yardsticks do the work they are said to do."""

from __future__ import annotations

import numpy as np
import pytest

from bench.load import BLOCK_SIZE, SaturatedLoad
from bench.yardsticks import (
    ArrayStep,
    ChainedHash,
    ListPool,
    chained_keys,
    simulate_naively,
    time_rounds,
)


def test_an_array_step_moves_every_row_to_a_slot_of_its_own() -> None:
    step = ArrayStep(40)
    for _ in range(3 * BLOCK_SIZE):
        step.run()
    # After two crossings each, no row is in its first block, which all rows share.
    assert len(set(step.slots.tolist())) == 40


@pytest.mark.parametrize("operation", ["allocate", "free", "fork", "evict", "admit", "release"])
def test_a_list_pool_runs_any_number_of_rounds(operation: str) -> None:
    pool = ListPool(num_blocks=64, blocks_per_call=4, num_calls=4)
    rounds_us = pool.time_rounds(operation, 20)
    assert len(rounds_us) == 20
    assert min(rounds_us) > 0


def test_a_chained_hash_finds_its_prompt_and_no_other() -> None:
    index = ChainedHash(num_tokens=160)
    tokens = np.random.default_rng(0).integers(0, 32_000, (2, 160), np.int32)
    assert index.look_up(tokens[0]) == list(range(10))
    assert index.look_up(tokens[1]) == []


def test_a_naive_simulation_cannot_beat_the_pool() -> None:
    load = SaturatedLoad(num_requests=60)
    prompts, outputs = load.lengths()
    assert simulate_naively(load) >= max(outputs)
    one_at_a_time = SaturatedLoad(num_requests=60, max_running=1)
    assert simulate_naively(one_at_a_time) == sum(outputs)
    assert len(prompts) == 60


def test_rounds_are_timed_without_their_preparation() -> None:
    seen: list[int] = []
    prepared = iter(range(3))
    assert len(time_rounds(lambda: next(prepared), seen.append, 3)) == 3
    assert seen == [0, 1, 2]


def test_a_chained_key_depends_on_all_blocks_before_it_and_on_full_ones_only() -> None:
    tokens = np.arange(2 * BLOCK_SIZE + 3, dtype=np.int32)
    other = tokens.copy()
    other[0] += 1
    keys = chained_keys(tokens)
    assert len(keys) == 2
    assert not set(keys) & set(chained_keys(other))
    assert chained_keys(tokens[: 2 * BLOCK_SIZE]) == keys
