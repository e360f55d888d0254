"""Own find: LFU counted a duplicate block as used again, and evicted its parent first."""

from __future__ import annotations


def test_a_parent_counts_as_used_no_less_than_its_child(make_engine) -> None:
    engine = make_engine(num_blocks=6, enable_prefix_caching=True, eviction="lfu")
    for name in ("cold", "warm", "hot"):
        engine.add(name, [7] * 8, num_new=1)
        engine.run()
    engine.add("large", [3] * 20, num_new=1)
    engine.run()
    engine.add("asks", [7] * 8, num_new=1)
    engine.step()
    assert engine.batches[-1].admitted[0].num_cached_tokens == 4
