"""Log-probabilities: values against float64, order among equals, numbers that JSON can carry."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from paged.engine.logprobs import LEAST_LOGPROB, logprobs_of, normalizers, top_ids


def random_logits(num_rows: int, vocab_size: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(num_rows, vocab_size, generator=torch.Generator().manual_seed(seed)) * 5


def test_values_are_those_of_a_float64_softmax() -> None:
    # A large common offset must not cost digits.
    logits = random_logits(6, 5003) + torch.tensor([0.0, 1e3, -1e3, 3e4, 0.0, 0.0])[:, None]
    tokens = np.array([0, 1, 5002, 17, 4, 4], np.int32)
    found = logprobs_of(logits, tokens, np.full(6, 4))
    expected = torch.log_softmax(logits.double(), 1).numpy()
    rows = np.arange(6)
    np.testing.assert_allclose(found.logprobs, expected[rows, tokens], rtol=1e-6, atol=2e-6)
    order = np.argsort(-expected, axis=1, kind="stable")[:, :4]
    assert found.top_tokens.tolist() == order.tolist()
    expected_top = np.take_along_axis(expected, order, 1)
    np.testing.assert_allclose(found.top_logprobs, expected_top, rtol=1e-6, atol=2e-6)
    ranks = (expected >= expected[rows, tokens][:, None]).sum(1)
    assert found.ranks.tolist() == ranks.tolist()


@given(st.lists(st.integers(-2, 2), min_size=1, max_size=12), st.data())
def test_equal_tokens_stand_in_the_order_of_their_ids(row: list[int], data: st.DataObject) -> None:
    count = data.draw(st.integers(0, len(row)))
    other = data.draw(st.permutations(row))
    logits = torch.tensor([row, other], dtype=torch.float32) * torch.tensor([[1.0], [-0.0]])
    found = top_ids(logits, count).tolist()
    assert found[0] == sorted(range(len(row)), key=lambda token: (-row[token], token))[:count]
    assert found[1] == list(range(count))


def test_each_place_reports_what_was_asked_for_there() -> None:
    logits = torch.tensor([[0.0, 2.0, 1.0], [0.0, 0.0, 0.0], [5.0, 0.0, 0.0]])
    found = logprobs_of(logits, np.array([0, 2, 0], np.int32), np.array([2, 0, 20]))
    assert len(found) == 3
    assert [each.token for each in found.top(0)] == [1, 2]
    assert [each.rank for each in found.top(0)] == [1, 2]
    assert found.top(1) == []
    # More than the vocabulary holds is all of it.
    assert [each.token for each in found.top(2)] == [0, 1, 2]
    assert (found.chosen(0).token, found.chosen(0).rank) == (0, 3)
    assert found.chosen(1).rank == 3
    assert found.chosen(2).logprob == found.top(2)[0].logprob


def test_what_was_drawn_need_not_be_among_the_best() -> None:
    found = logprobs_of(torch.tensor([[0.0, 1.0, 2.0]]), np.array([0], np.int32), np.array([1]))
    assert found.chosen(0).token == 0
    assert [each.token for each in found.top(0)] == [2]


def test_masked_tokens_have_a_finite_number() -> None:
    logits = torch.tensor([[1.0, -torch.inf, -torch.inf]])
    found = logprobs_of(logits, np.array([1], np.int32), np.array([3]))
    values = [found.chosen(0).logprob, *(each.logprob for each in found.top(0))]
    assert values == [LEAST_LOGPROB, 0.0, LEAST_LOGPROB, LEAST_LOGPROB]
    json.dumps(values, allow_nan=False)


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
def test_a_row_does_not_know_its_neighbours() -> None:
    for vocab_size in (3, 1003, 49152):
        logits = random_logits(17, vocab_size, seed=1)
        relative, log_sums = normalizers(logits)
        for i in range(17):
            alone = normalizers(logits[i : i + 1].clone())
            assert torch.equal(alone[0][0], relative[i])
            assert torch.equal(alone[1][0], log_sums[i])
