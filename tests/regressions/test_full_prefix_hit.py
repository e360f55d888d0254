"""nano-vllm#114, #144: a prompt of whole blocks, all of them cached, left nothing to compute."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("num_blocks", [1, 2, 5])
def test_a_full_hit_still_computes_one_token(make_engine, num_blocks: int) -> None:
    engine = make_engine(num_blocks=32, enable_prefix_caching=True)
    prompt = [7] * (4 * num_blocks)
    engine.add("cold", prompt, num_new=6)
    engine.run()
    engine.add("warm", prompt, num_new=6)
    engine.step()
    batch = engine.batches[-1]
    assert batch.admitted[0].num_cached_tokens == len(prompt) - 1
    assert batch.num_scheduled.tolist() == [1]
    assert len(batch.copies) == 1
    engine.run()
    assert engine.tokens("warm") == engine.tokens("cold")
