"""Draws of the host kernel at every level: token for token those of torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from paged.engine import sampler
from paged.engine.host_sampling import find_sampler
from paged.engine.sampler import sample
from paged.kernel.choice import current_choices
from paged.sampling_params import SamplingParams
from paged.types import TokenArray
from tests.helpers.draws import rows_of
from tests.helpers.host_levels import HostLevel, in_level, levels, randn

KINDS: list[dict[str, Any]] = [
    {},
    {"temperature": 0.0},
    {"temperature": 0.3},
    {"top_k": 1},
    {"top_k": 50},
    {"top_k": 700},
    {"top_p": 1e-6},
    {"top_p": 0.7},
    {"top_p": 0.99},
    {"min_p": 0.2},
    {"temperature": 0.7, "top_k": 300, "top_p": 0.9, "min_p": 0.02},
]
# Less than a vector and than a span of ids, whole ones, one more, and many.
VOCAB_SIZES = (1, 5, 64, 65, 2049)


def logits_of(kind: str, num_rows: int, vocab_size: int) -> torch.Tensor:
    logits = randn(num_rows, vocab_size, seed=vocab_size) * 2
    if kind == "tied":
        return logits.round()
    if kind == "equal":
        return torch.zeros(num_rows, vocab_size)
    if kind == "extreme":
        return logits * 1e37
    if kind == "impossible":
        impossible = randn(num_rows, vocab_size, seed=7) < 0
        return logits.masked_fill(impossible, -torch.inf).index_fill(
            1, torch.tensor([vocab_size - 1]), 0.0
        )
    return logits


def drawn_by_torch(logits: torch.Tensor, params: list[SamplingParams]) -> TokenArray:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampler, "find_sampler", lambda _config: None)  # type: ignore[misc]
        return sample(logits, rows_of(params)).tokens


@levels
@pytest.mark.parametrize("kind", ["random", "tied", "equal", "extreme", "impossible"])
def test_tokens_are_those_of_torch(level: HostLevel, kind: str) -> None:
    params = [SamplingParams(**values) for values in KINDS] * 3
    for vocab_size in VOCAB_SIZES:
        logits = logits_of(kind, len(params), vocab_size)
        expected = drawn_by_torch(logits, params)
        for num_threads in (1, 3):
            with in_level(level, num_threads):
                found = sample(logits, rows_of(params)).tokens
            assert found.tolist() == expected.tolist()


@levels
def test_the_first_of_equals_and_of_nans_is_the_best(level: HostLevel) -> None:
    for vocab_size in VOCAB_SIZES:
        logits = torch.zeros(3, vocab_size)
        logits[0, vocab_size // 2 :] = 1.0
        logits[1, vocab_size - 1] = torch.nan
        rows = rows_of([SamplingParams(temperature=0)] * 3)
        with in_level(level):
            kernel = find_sampler(current_choices().host)
            assert kernel is not None
            tokens, best = kernel.draw(logits, rows, np.zeros(3))
        assert tokens.tolist() == [vocab_size // 2, vocab_size - 1, 0]
        assert best[[0, 2]].tolist() == [1.0, 0.0]
        assert best[1].isnan()


def test_rows_may_lie_apart_and_columns_too() -> None:
    logits = randn(6, 200)
    params = [SamplingParams(**values) for values in KINDS[:6]]
    expected = sample(logits, rows_of(params)).tokens.tolist()
    wide = torch.full((6, 300), 9.0)
    wide[:, 50:250] = logits
    assert sample(wide[:, 50:250], rows_of(params)).tokens.tolist() == expected
    assert sample(logits.t().contiguous().t(), rows_of(params)).tokens.tolist() == expected
