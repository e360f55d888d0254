"""Own finds: groups that lost their output, or ran rows that hold nothing, after preemption."""

from __future__ import annotations

import pytest

from tests.helpers.toy_model import Language


def test_the_last_sequence_of_a_group_keeps_its_output(make_engine) -> None:
    engine = make_engine(num_blocks=7, language=Language(num_kinds=10_000, stop_every=4))
    for i in range(12):
        engine.add(f"single {i}", [i] * 11, num_new=20)
        engine.add(f"group {i}", [i] * 6, num_new=14, num_sequences=2)
    engine.run()
    groups = [f for f in engine.finished.values() if f.request.num_sequences == 2]
    # The toy engine compares every output; one of a pair must end well before the other.
    assert max(finished.num_preemptions for finished in groups) > 0
    assert min(finished.num_new_tokens for finished in groups) >= 1


@pytest.mark.parametrize("preemption", ["recompute", "swap"])
def test_a_group_preempted_before_its_fork_runs_one_row(make_engine, preemption: str) -> None:
    engine = make_engine(
        num_blocks=6, num_host_blocks=6, preemption=preemption, max_num_batched_tokens=2
    )
    engine.add("single", [1] * 9, num_new=10)
    for _ in range(6):
        engine.step()
    engine.add("group", [2] * 12, num_new=2, num_sequences=2)
    engine.run()
    assert engine.finished["group", 0].num_preemptions > 0
    assert [len(engine.tokens("group", i)) for i in range(2)] == [14, 14]
