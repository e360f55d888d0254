"""transformers (paged cache): the block cached last was evicted first."""

from __future__ import annotations


def test_the_prefix_used_last_survives_an_eviction(make_engine) -> None:
    engine = make_engine(num_blocks=8, enable_prefix_caching=True)
    for name, token in (("old", 1), ("new", 2)):
        engine.add(name, [token] * 8, num_new=1)
        engine.run()
    engine.add("large", [3] * 20, num_new=1)
    engine.run()
    engine.add("new again", [2] * 8 + [9], num_new=1)
    engine.run()
    hits = {
        admitted.request.request_id: admitted.num_cached_tokens
        for batch in engine.batches
        for admitted in batch.admitted
    }
    assert hits == {"old": 0, "new": 0, "large": 0, "new again": 8}
