"""llama.cpp#4790: a limit of one new token gave four; sgl-jax#56: it never ended."""

from __future__ import annotations

import pytest

from paged.scheduler.request import FinishReason


@pytest.mark.parametrize("budget", [None, 3])
@pytest.mark.parametrize("num_sequences", [1, 3])
def test_a_limit_of_one_gives_exactly_one(make_engine, budget, num_sequences: int) -> None:
    engine = make_engine(num_blocks=16, max_num_batched_tokens=budget)
    engine.add("one", [4] * 8, num_new=1, num_sequences=num_sequences)
    finished = engine.run()
    assert len(finished) == num_sequences
    for sequence in finished.values():
        assert sequence.num_new_tokens == 1
        assert sequence.reason is FinishReason.LENGTH
