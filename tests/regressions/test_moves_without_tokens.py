"""Own find: a step that swapped a request in and computed nothing was never executed."""

from __future__ import annotations


def test_blocks_that_return_in_a_step_without_tokens_hold_their_content(make_engine) -> None:
    engine = make_engine(
        num_blocks=15,
        block_size=1,
        max_model_len=12,
        enable_prefix_caching=True,
        num_host_blocks=20,
        policy="priority",
        preemption="swap",
    )
    engine.add("group", [1, 1, 1], num_new=9, num_sequences=3, priority=2)
    engine.add("pair", [2], num_new=9, num_sequences=2, priority=3)
    engine.step()
    engine.add("shares", [2], num_new=9, priority=1)
    engine.step()
    engine.add("urgent", [0], num_new=1, priority=0)
    # The toy engine compares all contents after every step.
    engine.run()
    assert any(len(batch.swap_in) and not batch.num_seqs for batch in engine.batches)
