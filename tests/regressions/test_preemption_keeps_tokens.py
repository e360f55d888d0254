"""vllm#16832: the output was cut or wrong after a preemption by recompute."""

from __future__ import annotations

import pytest

PROMPTS = {"first": [1] * 6, "second": [2] * 7, "third": [3] * 5}


@pytest.mark.parametrize("preemption", ["recompute", "swap"])
@pytest.mark.parametrize("budget", [None, 5])
def test_tokens_are_those_of_a_large_pool(make_engine, preemption: str, budget) -> None:
    calm = make_engine(num_blocks=64)
    tight = make_engine(
        num_blocks=10, num_host_blocks=10, preemption=preemption, max_num_batched_tokens=budget
    )
    for engine in (calm, tight):
        for name, prompt in PROMPTS.items():
            engine.add(name, prompt, num_new=16)
        engine.run()
    assert sum(finished.num_preemptions for finished in tight.finished.values()) > 0
    for name in PROMPTS:
        assert tight.tokens(name) == calm.tokens(name)
