"""The clock of steps: every operation of the model, all of the time, each kind of step apart."""

from __future__ import annotations

from time import perf_counter

import pytest

from bench.peers.load import PeerLoad
from bench.steps import EXECUTOR, OUTSIDE, Breakdown, clocked, lines
from tests.helpers.tiny_llm import tiny_llm

OPERATIONS = {"embedding", "rms_norm", "add_rms_norm", "rope_write_kv", "attention", "silu_mul"}


def _load(num_requests: int, num_prompt_tokens: int, num_output_tokens: int) -> PeerLoad:
    return PeerLoad(
        prompts=[[3 + i] * num_prompt_tokens for i in range(num_requests)],
        output_tokens=[num_output_tokens] * num_requests,
    )


def test_all_operations_and_all_of_the_time_are_seen() -> None:
    llm = tiny_llm(max_num_batched_tokens=8, enable_prefix_caching=False)
    clock = clocked(llm, _load(2, 12, 5), warm_up=_load(1, 4, 2))
    # 8 of the first; 4 of it, and of the second; 7 of the second beside a draw. Then its last token
    # alone, which is as a draw, and four draws more.
    assert (clock.with_prompts.num_steps, clock.with_prompts.num_tokens) == (3, 24)
    assert (clock.decode.num_steps, clock.decode.num_tokens) == (5, 8)
    for steps in (clock.with_prompts, clock.decode):
        names = set(steps.seconds)
        assert OPERATIONS | {EXECUTOR, OUTSIDE} <= names
        assert names - OPERATIONS - {EXECUTOR, OUTSIDE} == set(steps.macs)
        assert all(seconds >= 0 for seconds in steps.seconds.values())


def test_the_times_of_a_run_are_no_more_than_it_took() -> None:
    llm, load = tiny_llm(), _load(3, 6, 4)
    begin_s = perf_counter()
    clock = clocked(llm, load, warm_up=_load(1, 4, 2))
    seen_s = sum(sum(steps.seconds.values()) for steps in (clock.with_prompts, clock.decode))
    assert 0 < seen_s <= perf_counter() - begin_s


def test_multiply_adds_are_those_of_the_rows_of_a_layer() -> None:
    clock = clocked(tiny_llm(), _load(2, 6, 3), warm_up=_load(1, 4, 2))
    for steps in (clock.with_prompts, clock.decode):
        for name, macs in steps.macs.items():
            outputs, inputs = map(int, name.removeprefix("linear ").split("x"))
            assert macs % (outputs * inputs) == 0
            assert macs >= outputs * inputs * steps.num_steps


def test_a_table_has_the_longest_first_and_says_what_is_possible() -> None:
    steps = Breakdown(num_steps=2, num_tokens=12, seconds={"a": 0.01, "linear 2x3": 0.03})
    steps.macs["linear 2x3"] = 3e6
    assert lines("decode", steps, macs_per_s=2e8) == [
        "decode: 2 steps of 6 tokens, 0.04 s, 20.0 ms a step",
        "  linear 2x3                15.00 ms  75.0%   0.50 of multiply-adds' best",
        "  a                          5.00 ms  25.0%",
    ]


@pytest.mark.parametrize("title", ["with prompts", "decode"])
def test_no_steps_are_said_to_be_none(title: str) -> None:
    assert lines(title, Breakdown(), macs_per_s=1.0) == [f"{title}: none"]
