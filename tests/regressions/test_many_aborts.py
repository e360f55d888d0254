"""lmdeploy#1788, #548, #1619: the engine stalled after many clients had gone."""

from __future__ import annotations


def test_all_blocks_are_back_after_bursts_of_aborts(make_engine) -> None:
    engine = make_engine(num_blocks=24, enable_prefix_caching=True, max_num_batched_tokens=16)
    for burst in range(10):
        names = [f"request {burst} {i}" for i in range(20)]
        for i, name in enumerate(names):
            engine.add(name, [i % 3] * (3 + i % 7), num_new=30)
        for _ in range(burst):
            engine.step()
        for name in names:
            engine.engine.abort(name)
        engine.step()
        engine.check_empty()
    engine.add("served", [1] * 9, num_new=5)
    engine.run()
    assert len(engine.tokens("served")) == 14
