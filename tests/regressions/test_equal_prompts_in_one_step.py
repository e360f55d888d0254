"""nano-vllm#208: of two equal prompts in one step, the second read what was not written yet."""

from __future__ import annotations


def test_a_block_is_hittable_only_after_the_step_that_fills_it(make_engine) -> None:
    engine = make_engine(num_blocks=32, enable_prefix_caching=True)
    for name in ("first", "second"):
        engine.add(name, [5] * 8 + [6], num_new=4)
    engine.step()
    assert [admitted.num_cached_tokens for admitted in engine.batches[0].admitted] == [0, 0]
    engine.add("third", [5] * 8 + [6], num_new=4)
    engine.step()
    assert [admitted.num_cached_tokens for admitted in engine.batches[1].admitted] == [8]
    engine.run()
    assert engine.tokens("first") == engine.tokens("second") == engine.tokens("third")
