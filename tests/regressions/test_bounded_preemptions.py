"""vllm#25538: requests were admitted into a nearly full pool and thrown out again and again."""

from __future__ import annotations

import math

import pytest


@pytest.mark.parametrize("budget", [None, 16])
def test_nobody_is_preempted_again_and_again(make_engine, budget: int | None) -> None:
    engine = make_engine(
        num_blocks=16, block_size=16, max_model_len=200, max_num_batched_tokens=budget
    )
    for i in range(2):
        engine.add(f"long {i}", [i] * 80, num_new=45)
    for _ in range(2):
        engine.step()
    # One block lets the group in; to part it needs five in the next step. For the forty
    # steps that the pool has between one and five free, it would come and go.
    engine.add("group", [3] * 16, num_new=2, num_sequences=5)
    engine.run()
    # A few preemptions are free; each further one doubles what must be free to return.
    bound = 3 + math.ceil(math.log2(16 + 1))
    assert 0 < engine.finished["group", 0].num_preemptions <= bound
    assert len(engine.tokens("group", 4)) == 18


def test_long_prompts_in_a_full_pool_are_served_in_order(make_engine) -> None:
    engine = make_engine(num_blocks=96, block_size=1, max_model_len=96, max_num_batched_tokens=16)
    for i in range(4):
        engine.add(f"long {i}", [i] * 40, num_new=50)
    engine.run()
    assert [name for name, _ in engine.finished] == [f"long {i}" for i in range(4)]
    preemptions = [finished.num_preemptions for finished in engine.finished.values()]
    assert 0 < sum(preemptions) <= 8
