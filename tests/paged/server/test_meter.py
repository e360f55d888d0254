"""The meter: counts and latencies worked out by hand on an engine with a clock of its own."""

from __future__ import annotations

from typing import Any

import pytest

from paged.server.meter import Measured, StepMeter
from tests.helpers.toy_engine import ToyEngine, make_toy_engine


def _metered(**values: Any) -> tuple[ToyEngine, StepMeter]:
    values = {"num_blocks": 32} | values
    toy = make_toy_engine(**values)
    max_rows = toy.scheduler.allocator.tables.max_rows
    meter = StepMeter(max_rows, has_prefix_cache=toy.cache.enable_prefix_caching)
    toy.engine.observers = (*toy.engine.observers, meter)
    return toy, meter


def _sums(measured: Measured) -> dict[str, tuple[int, Any]]:
    """Return how many values each latency has, and their sum."""
    histograms = measured.histograms.items()
    return {name: (state.num_values, pytest.approx(state.total)) for name, state in histograms}


def test_latencies_of_two_requests_of_which_one_waits() -> None:
    # Every step of the toy model takes one second.
    toy, meter = _metered(max_num_seqs=1)
    toy.add("a", [1] * 5, num_new=3)
    toy.add("b", [2] * 5, num_new=2)
    toy.run()
    sums = _sums(meter.measured())
    # a runs in seconds 1 to 3, b in 4 and 5; both arrived at 0.
    assert sums["queue_time_s"] == (2, 0 + 3)
    assert sums["time_to_first_token_s"] == (2, 1 + 4)
    assert sums["prefill_time_s"] == (2, 1 + 1)
    assert sums["inter_token_latency_s"] == (3, 1 + 1 + 1)
    assert sums["decode_time_s"] == (2, 2 + 1)
    assert sums["inference_time_s"] == (2, 3 + 2)
    assert sums["e2e_latency_s"] == (2, 3 + 5)
    assert sums["step_s"] == (5, 5)
    assert sums["step_tokens"] == (5, 5 + 1 + 1 + 5 + 1)
    assert sums["prompt_tokens"] == (2, 10)
    assert sums["generation_tokens"] == (2, 5)
    counts = meter.counts
    assert (counts.steps, counts.prompt_tokens, counts.generation_tokens) == (5, 10, 5)
    assert meter.measured().finished == {"stop": 0, "length": 2, "abort": 0, "error": 0}


def test_sequences_of_one_request_begin_together_and_have_tokens_of_their_own() -> None:
    toy, meter = _metered()
    toy.add("a", [1] * 6, num_new=3, num_sequences=2)
    toy.run()
    sums = _sums(meter.measured())
    assert sums["time_to_first_token_s"] == (1, 1)
    assert sums["inter_token_latency_s"] == (4, 4)
    assert sums["e2e_latency_s"] == (1, 3)
    assert sums["generation_tokens"] == (2, 6)
    assert meter.counts.prompt_tokens == 6
    # Both write behind the prompt's six tokens, in the second block: one copies it.
    assert meter.counts.copied_blocks == 1
    (copy,) = meter.measured().copies
    assert copy.src != copy.dst
    assert (copy.step, copy.group) == (1, None)


@pytest.mark.parametrize("preemption", ["recompute", "swap"])
def test_the_wait_of_a_preempted_sequence_is_one_interval(preemption: str) -> None:
    toy, meter = _metered(num_blocks=6, preemption=preemption, num_host_blocks=6)
    toy.add("a", [1] * 4, num_new=16)
    toy.add("b", [2] * 4, num_new=16)
    toy.run()
    measured = meter.measured()
    counts, state = measured.counts, measured.histograms["inter_token_latency_s"]
    assert counts.preemptions > 0
    # Tokens come with the ends of steps: the intervals of a sequence are all of its time.
    ends_s = [len(toy.batches) - 1, 15]
    assert (state.num_values, state.total) == (30, sum(ends_s))
    assert measured.histograms["time_to_first_token_s"].num_values == 2
    if preemption == "swap":
        assert counts.swapped_out_blocks == counts.swapped_in_blocks > 0
        assert counts.recomputed_tokens == 0
    else:
        assert counts.recomputed_tokens > 0


def test_prompts_found_in_the_cache_are_hits() -> None:
    toy, meter = _metered(enable_prefix_caching=True)
    toy.add("a", [1] * 10)
    toy.run()
    toy.add("b", [1] * 10)
    toy.run()
    assert (meter.counts.prefix_queries, meter.counts.prefix_hits) == (20, 8)


def test_without_a_cache_nothing_is_looked_up() -> None:
    toy, meter = _metered()
    toy.add("a", [1] * 10)
    toy.run()
    assert meter.counts.prefix_queries == 0


def test_what_was_given_up_is_counted_and_has_no_latency() -> None:
    toy, meter = _metered(max_num_seqs=1)
    toy.add("a", [1] * 5)
    toy.add("b", [2] * 5)
    toy.step()
    for name in "ab":
        toy.engine.abort(name)
    toy.run()
    measured = meter.measured()
    assert measured.finished["abort"] == 2
    assert measured.histograms["e2e_latency_s"].num_values == 0
    assert measured.histograms["time_to_first_token_s"].num_values == 1
    # An id may come again, and is another request then.
    toy.add("a", [1] * 5)
    toy.run()
    assert meter.measured().histograms["e2e_latency_s"].num_values == 1


def test_a_failed_step_counts_its_requests_as_failed() -> None:
    toy, meter = _metered()
    toy.add("a", [1] * 5)
    toy.step()
    toy.fail_step()
    toy.run()
    assert meter.measured().finished["error"] == 1
