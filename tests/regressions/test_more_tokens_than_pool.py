"""transformers#43150: an error when the live tokens exceeded the cache."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("name", ["paged", "virtual"])
@pytest.mark.parametrize("caching", [False, True])
def test_live_tokens_beyond_the_pool_are_served_in_turns(
    make_engine, name: str, caching: bool
) -> None:
    calm = make_engine(num_blocks=200)
    tight = make_engine(
        num_blocks=12, allocator=name, enable_prefix_caching=caching and name == "paged"
    )
    for engine in (calm, tight):
        for i in range(8):
            engine.add(f"request {i}", [i % 2] * 6, num_new=20)
        engine.run()
    assert sum(batch.num_preempted for batch in tight.batches) > 0
    for i in range(8):
        assert tight.tokens(f"request {i}") == calm.tokens(f"request {i}")
