"""sglang#4602, #19881, #14972, #14939: "out of memory" for the request that ran last."""

from __future__ import annotations

import pytest

from paged.scheduler.request import FinishReason


@pytest.mark.parametrize("block_size", [1, 4, 16])
def test_a_request_alone_ends_at_the_limit_of_the_pool(make_engine, block_size: int) -> None:
    engine = make_engine(num_blocks=32 // block_size, block_size=block_size)
    engine.add("only", [3] * 7, num_new=50)
    engine.run()
    only = engine.finished["only", 0]
    # The pool stores 32 tokens; the last one drawn need not be stored.
    assert len(only.tokens) == 33
    assert only.reason is FinishReason.LENGTH


@pytest.mark.parametrize("preemption", ["recompute", "swap"])
def test_others_are_preempted_before_anybody_ends(make_engine, preemption: str) -> None:
    engine = make_engine(num_blocks=8, num_host_blocks=8, preemption=preemption)
    engine.add("first", [3] * 7, num_new=50)
    engine.add("second", [4] * 7, num_new=12)
    engine.run()
    assert len(engine.tokens("first")) == 33
    assert len(engine.tokens("second")) == 19
    assert engine.finished["second", 0].num_preemptions > 0


def test_a_group_alone_ends_its_last_sequence_first(make_engine) -> None:
    engine = make_engine(num_blocks=8, block_size=1)
    engine.add("group", [3] * 2, num_new=6, num_sequences=2)
    engine.run()
    first, second = engine.finished["group", 0], engine.finished["group", 1]
    # Two shared tokens leave three of each; then the second gives way to the first.
    assert len(first.tokens) == 2 + 6
    assert len(second.tokens) < len(first.tokens)
    assert second.reason is FinishReason.LENGTH


@pytest.mark.parametrize("allocator", ["paged", "virtual"])
def test_what_ended_in_a_static_batch_gives_way_first(make_engine, allocator: str) -> None:
    engine = make_engine(
        num_blocks=6, block_size=1, max_model_len=6, allocator=allocator, batching="static"
    )
    engine.add("short", [3] * 3, num_new=1)
    engine.add("long", [4] * 2, num_new=4)
    engine.run()
    assert len(engine.tokens("long")) == 2 + 4
