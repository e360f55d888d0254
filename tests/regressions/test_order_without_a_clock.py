"""lmdeploy (block trie): releases within one tick of the clock were evicted in any order."""

from __future__ import annotations


def test_leaves_go_first_though_all_were_released_at_once(make_engine) -> None:
    engine = make_engine(num_blocks=8, enable_prefix_caching=True)
    engine.add("first", [1] * 16, num_new=1)
    engine.add("second", [2] * 12, num_new=1)
    engine.run()
    # 4 and 3 blocks are cached, 1 is free. Taking 3 must cost "first" its last two.
    engine.add("large", [3] * 12, num_new=1)
    engine.run()
    for name, token in (("first again", 1), ("second again", 2)):
        engine.add(name, [token] * 12 + [9], num_new=1)
        engine.run()
    hits = {
        admitted.request.request_id: admitted.num_cached_tokens
        for batch in engine.batches
        for admitted in batch.admitted
    }
    # "first again" in turn took two blocks, which were the last two of "second".
    assert (hits["first again"], hits["second again"]) == (8, 4)
