"""vllm#1543: a limit of 2**31 new tokens killed the engine."""

from __future__ import annotations

import pytest

from paged.allocator.registry import ALLOCATORS


@pytest.mark.parametrize("name", ALLOCATORS)
@pytest.mark.parametrize("limit", [2**31, 10**30])
def test_a_limit_is_clipped_to_what_the_model_allows(make_engine, name: str, limit: int) -> None:
    engine = make_engine(
        num_blocks=16,
        max_model_len=24,
        allocator=name,
        batching=ALLOCATORS[name].batching,
    )
    engine.add("huge", [9] * 5, num_new=limit)
    engine.run()
    assert len(engine.tokens("huge")) == 24
