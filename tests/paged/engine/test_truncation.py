"""Which tokens stay: min-p, top-k and top-p, ties, and rows that need many candidates."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from paged.engine.truncation import least_in_nucleus, least_scores
from paged.sampling_params import SamplingParams
from tests.helpers.sampling_oracle import distribution

ALL = 2**31 - 1


def kept(
    logits: list[list[float]], *, min_p: float = 0.0, top_k: int = ALL, top_p: float = 1.0
) -> list[list[int]]:
    """Ids that stay, by row."""
    scores = torch.tensor(logits, dtype=torch.float32)
    scores -= scores.amax(1, keepdim=True)
    count = len(scores)
    floors = least_scores(scores, min_p=np.full(count, min_p), top_k=np.full(count, top_k))
    totals = torch.exp(scores).masked_fill(scores < floors, 0.0).double().sum(1, keepdim=True)
    floors = least_in_nucleus(scores, totals, floors, np.full(count, top_p))
    return [row.nonzero()[:, 0].tolist() for row in scores >= floors]


def log(*shares: float) -> list[float]:
    return np.log(shares).tolist()


def test_everything_stays_by_default() -> None:
    assert kept([[1.0, -50.0, -torch.inf]]) == [[0, 1, 2]]


def test_top_k_keeps_the_best_and_all_that_equal_the_last() -> None:
    row = [0.0, 3.0, 1.0, 2.0, 1.0]
    assert [kept([row], top_k=k)[0] for k in (1, 2, 3, 4, 5, 6)] == [
        [1],
        [1, 3],
        [1, 2, 3, 4],
        [1, 2, 3, 4],
        [0, 1, 2, 3, 4],
        [0, 1, 2, 3, 4],
    ]


def test_top_p_keeps_the_fewest_that_reach_it() -> None:
    row = log(0.1, 0.5, 0.3, 0.1)
    assert [kept([row], top_p=p)[0] for p in (1e-9, 0.4, 0.6, 0.79)] == [[1], [1], [1, 2], [1, 2]]
    # One of the two last would do; as they are equal, both stay.
    assert kept([row], top_p=0.85) == [[0, 1, 2, 3]]


def test_min_p_is_a_share_of_the_best() -> None:
    row = log(0.1, 0.5, 0.3, 0.1)
    assert [kept([row], min_p=p)[0] for p in (0.19, 0.3, 0.61, 1.0)] == [
        [0, 1, 2, 3],
        [1, 2],
        [1],
        [1],
    ]


def test_top_p_counts_what_the_others_left() -> None:
    row = log(0.4, 0.3, 0.2, 0.1)
    # Of 0.4 and 0.3 alone, the first is 0.57 of all.
    assert kept([row], top_k=2, top_p=0.55) == [[0]]
    assert kept([row], top_p=0.55) == [[0, 1]]
    assert kept([row], min_p=0.7, top_p=0.55) == [[0]]


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the list of how many candidates were looked at, in each pass."""
    counts: list[int] = []
    topk = torch.Tensor.topk

    def counted(scores: torch.Tensor, count: int, dim: int) -> object:
        counts.append(count)
        return topk(scores, count, dim=dim)

    monkeypatch.setattr(torch.Tensor, "topk", counted)
    return counts


def test_flat_rows_look_at_more_candidates(counts: list[int]) -> None:
    flat = (-1e-4 * np.arange(4096.0)).tolist()
    steep = (-1.0 * np.arange(4096.0)).tolist()
    found = kept([flat, steep], top_p=0.9)
    assert counts == [64, 512, 4096]
    weights = np.exp(flat).cumsum()
    assert len(found[0]) == int((weights < 0.9 * weights[-1]).sum()) + 1
    assert found[1] == [0, 1, 2]


def nucleus(scores: list[float], *, total: float, floor: float, top_p: float) -> float:
    return least_in_nucleus(
        torch.tensor([scores]),
        torch.tensor([[total]], dtype=torch.float64),
        torch.tensor([[floor]]),
        np.array([top_p]),
    ).item()


def test_a_sum_that_is_reached_exactly_is_enough() -> None:
    assert nucleus([-5.0, 0.0], total=2.0, floor=-torch.inf, top_p=0.5) == 0.0


def test_what_rounding_leaves_short_of_the_total_brings_nothing_back() -> None:
    assert nucleus([-5.0, 0.0], total=1.1, floor=-1.0, top_p=1.0 - 1e-16) == -1.0


def test_steep_rows_look_at_few_candidates(counts: list[int]) -> None:
    assert kept([(-1.0 * np.arange(4096.0)).tolist()], top_p=0.9) == [[0, 1, 2]]
    assert counts == [64]


@given(
    st.lists(st.integers(-6, 6), min_size=1, max_size=10),
    st.sampled_from([0.0, 0.03, 0.4, 1.0]),
    st.integers(1, 11),
    st.sampled_from([1e-6, 0.33, 0.71, 0.97, 1.0]),
)
def test_the_tokens_of_the_oracle_stay(
    row: list[int], min_p: float, top_k: int, top_p: float
) -> None:
    params = SamplingParams(min_p=min_p, top_k=top_k, top_p=top_p)
    expected = np.flatnonzero(distribution(list(map(float, row)), params)).tolist()
    assert kept([list(map(float, row))], min_p=min_p, top_k=top_k, top_p=top_p) == [expected]
