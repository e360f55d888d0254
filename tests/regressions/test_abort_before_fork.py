"""Own find: rows that a group had not forked into yet were registered as full blocks."""

from __future__ import annotations


def test_an_aborted_group_leaves_the_cache_as_it_was(make_engine) -> None:
    engine = make_engine(num_blocks=16, enable_prefix_caching=True, max_num_batched_tokens=6)
    engine.add("first", [1] * 5, num_new=12)
    engine.step()
    engine.add("alike", [1] * 5, num_new=12)
    engine.step()
    engine.add("group", [2] * 9, num_new=4, num_sequences=3)
    engine.step()
    engine.engine.abort("group")
    engine.step()
    # What was cached is hit; a block of zeros at place 0 was never computed by anybody.
    engine.add("again", [1] * 5, num_new=4)
    engine.add("zeros", [0] * 5, num_new=4)
    engine.step()
    assert [admitted.num_cached_tokens for admitted in engine.batches[-1].admitted] == [4, 0]
    engine.run()
