"""Measures of a run against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.sim.record import CLASSES, HoleSamples, RunRecord
from experiments.sim.summary import shares_pct, summarise, weighted_quantile


def requests() -> dict[str, list[float]]:
    """First completion at 1 s and mean service 1 s: the window is [2, 10)."""
    return {
        "arrival_s": [0.0, 2.0, 3.0, 10.0],
        "admitted_s": [0.0, 3.0, 4.0, 10.0],
        "first_token_s": [0.5, 3.5, 4.5, 10.5],
        "finished_s": [1.0, 4.0, 5.0, 11.0],
        "output_tokens": [1.0, 2.0, 1.0, 1.0],
    }


def test_shares_are_weighted_by_time_over_memory_blocked_instants(make_record):
    record = make_record(
        8,
        requests=requests(),
        duration_s=[2, 1, 3, 1, 1, 1, 1, 1],
        token=[99, 10, 50, 99, 99, 99, 99, 99],
        running=[9, 1, 5, 8, 8, 8, 8, 8],
        is_memory_blocked=[1, 1, 1, 0, 0, 0, 0, 1],
        preempted=[9, 1, 2, 0, 0, 0, 0, 9],
        computed_tokens=[9, 40, 60, 4, 4, 4, 8, 9],
        recomputed_tokens=[9, 10, 10, 0, 0, 0, 0, 9],
    )
    measures = summarise(record, is_saturated=True)
    # blocked steps in the window [2, 10): 1 s at 10 slots and 3 s at 50 slots
    assert measures["token_pct"] == 40.0
    assert measures["free_pct"] == 60.0
    assert measures["mean_batch"] == 4.0
    assert measures["token_per_step_pct"] == 30.0
    assert measures["mean_batch_per_step"] == 3.0
    assert measures["waiting_share_pct"] == 50.0
    # the four other steps of the window have 99 slots for 1 s each
    assert measures["token_all_time_pct"] == pytest.approx((10 + 150 + 4 * 99) / 8)
    assert measures["completions"] == 2
    assert measures["preemptions_per_completion"] == 1.5
    assert measures["recomputed_token_pct"] == pytest.approx(100 * 20 / 100)


def test_without_waiting_the_busy_time_counts_and_the_share_says_so(make_record):
    record = make_record(
        11, requests=requests(), token=[0, 0, *[30] * 4, *[0] * 5], running=[1] * 6 + [0] * 5
    )
    measures = summarise(record, is_saturated=True)
    assert measures["waiting_share_pct"] == 0.0
    # idle steps 6..10 count neither as free pool nor as a batch of none
    assert measures["token_pct"] == 30.0
    assert measures["mean_batch"] == 1.0
    assert measures["num_steps"] == 4


def test_latencies_count_from_arrival_and_need_arrivals(make_record):
    record = make_record(11, requests=requests())
    measures = summarise(record, is_saturated=False)
    # requests that end in the window: TTFT 1.5 and 1.5 s; 2 s for 2 tokens, 2 s for 1
    assert measures["mean_ttft_s"] == 1.5
    assert measures["normalized_latency_s_per_token"] == pytest.approx((2 / 2 + 2 / 1) / 2)
    # only the first has a second token
    assert measures["mean_tpot_s"] == 0.5
    saturated = summarise(record, is_saturated=True)
    assert saturated["mean_ttft_s"] is None
    assert saturated["normalized_latency_s_per_token"] is None


def test_throughput_is_per_second_of_the_window(make_record):
    record = make_record(11, requests=requests(), new_tokens=[50, 50, *[3] * 8, 50])
    measures = summarise(record, is_saturated=True)
    assert measures["throughput_tokens_per_s"] == 3.0
    assert measures["throughput_requests_per_s"] == 2 / 8


def test_a_sparse_fragmentation_index_stands_until_the_next_sample(make_record):
    holes = HoleSamples(
        step=np.array([0, 4]), index=np.array([0.2, 0.6]), counts=np.array([[1.0], [2.0]])
    )
    record = make_record(11, requests=requests(), holes=holes)
    # window [2, 10): steps 2, 3 stand for 0.2 and steps 4..9 for 0.6
    found = summarise(record, is_saturated=True)["external_fragmentation_index"]
    assert found == pytest.approx((2 * 0.2 + 6 * 0.6) / 8)


def test_nothing_to_measure_is_none(make_record):
    measures = summarise(make_record(11, requests=requests()), is_saturated=True)
    assert measures["external_fragmentation_index"] is None
    assert measures["recomputed_token_pct"] is None


@given(st.lists(st.integers(0, 10**6), min_size=5, max_size=5), st.integers(1, 10**5))
def test_shares_sum_to_exactly_100_as_printed(used, free):
    slots = [*used, free]
    record = RunRecord(
        capacity_slots=sum(slots),
        block_size=1,
        steps={name: np.array([slot]) for name, slot in zip(CLASSES, slots, strict=True)},
        requests={},
        holes=None,
    )
    shares = shares_pct(record, np.ones(1))
    assert list(shares) == [f"{name}_pct" for name in CLASSES]
    assert sum(round(share * 10**6) for share in shares.values()) == 100 * 10**6
    exact = [100 * slot / sum(slots) for slot in slots]
    assert np.allclose(list(shares.values()), exact, rtol=0, atol=1.1e-6)


@pytest.mark.parametrize(("share", "value"), [(0.25, 1.0), (0.26, 2.0), (0.5, 2.0), (0.99, 7.0)])
def test_quantile_by_weight(share, value):
    values = np.array([7.0, 1.0, 2.0])
    assert weighted_quantile(values, np.array([2.0, 1.0, 1.0]), share) == value
