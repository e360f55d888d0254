"""Draws: against the float64 oracle one by one and as a distribution, and alone or in company."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from paged.engine import sampler
from paged.engine.philox import uniforms
from paged.engine.sampler import sample
from paged.errors import BadLogits
from paged.sampling_params import SamplingParams
from tests.helpers.draws import rows_of
from tests.helpers.sampling_oracle import distribution

KINDS: list[dict[str, Any]] = [
    {},
    {"temperature": 0.0},
    {"temperature": 0.3},
    {"temperature": 2.0},
    {"top_k": 1},
    {"top_k": 4},
    {"top_p": 0.7},
    {"min_p": 0.2},
    {"temperature": 0.7, "top_k": 6, "top_p": 0.9, "min_p": 0.02},
    {"logit_bias": {3: 5.0, 0: -100.0}},
    {"presence_penalty": 1.5, "frequency_penalty": -0.5, "repetition_penalty": 1.3},
    {"top_p": 0.5, "frequency_penalty": 2.0, "logit_bias": {7: 2.0}},
]


@pytest.fixture(scope="module", params=["host", "torch"], autouse=True)
def drawn_by(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "torch":
            patch.setattr(sampler, "find_sampler", lambda _config: None)  # type: ignore[misc]
        yield


def random_logits(num_rows: int, vocab_size: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(num_rows, vocab_size, generator=torch.Generator().manual_seed(seed)) * 2


@pytest.mark.parametrize("values", KINDS, ids=str)
def test_draws_follow_the_distribution_asked_for(values: dict[str, Any]) -> None:
    count, prompt, output = 4000, [1, 2], [2, 4, 4]
    params = SamplingParams(**values)
    row = random_logits(1, 12)
    expected = distribution(row[0].double().tolist(), params, prompt, output)
    rows = rows_of([params] * count, prompts=[prompt] * count, outputs=[output] * count)
    drawn = np.bincount(sample(row.expand(count, -1).clone(), rows).tokens, minlength=12)
    possible = expected > 0
    assert not drawn[~possible].any()
    if possible.sum() > 1:
        assert stats.chisquare(drawn[possible], expected[possible] * count).pvalue > 0.01


@settings(max_examples=60)
@given(st.lists(st.sampled_from(KINDS), min_size=1, max_size=6), st.integers(0, 2**32))
def test_each_draw_is_the_oracle_s(kinds: list[dict[str, Any]], seed: int) -> None:
    params = [SamplingParams(**values) for values in kinds]
    count = len(params)
    logits = random_logits(count, 40, seed)
    output = [[i, 3, 3] for i in range(count)]
    rows = rows_of(params, outputs=output, seeds=[seed + i for i in range(count)])
    drawn = sample(logits, rows).tokens.tolist()
    numbers = uniforms(rows.seed, rows.sequence_index, rows.draw_index)
    for i, each in enumerate(params):
        sums = distribution(logits[i].double().tolist(), each, [0], output[i]).cumsum()
        # Within the rounding of float32 either neighbour will do.
        places = np.searchsorted(sums, [numbers[i] - 1e-6, numbers[i] + 1e-6], side="right")
        assert places[0] <= drawn[i] <= places[1]


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_a_row_is_drawn_the_same_in_any_company(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from(KINDS), min_size=2, max_size=9))
    # More than a chunk of the cache holds, and no multiple of a vector register.
    vocab_size = data.draw(st.sampled_from([13, 1003, 50_257]))
    params = [SamplingParams(**values, logprobs=3) for values in kinds]
    logits = random_logits(len(kinds), vocab_size, data.draw(st.integers(0, 99)))
    together = sample(logits, rows_of(params))
    logprobs = together.logprobs
    assert logprobs is not None
    order = data.draw(st.permutations(range(len(kinds))))
    shuffled = sample(logits[order], rows_of([params[i] for i in order], seeds=order))
    assert shuffled.tokens.tolist() == together.tokens[order].tolist()
    for i in range(len(kinds)):
        alone = sample(logits[i : i + 1].clone(), rows_of([params[i]], seeds=[i]))
        assert alone.tokens[0] == together.tokens[i]
        assert alone.logprobs is not None
        assert alone.logprobs.chosen(0) == logprobs.chosen(i)
        assert alone.logprobs.top(0) == logprobs.top(i)


@pytest.mark.parametrize("num_threads", [1, 2])
def test_threads_and_chunks_do_not_matter(monkeypatch, num_threads: int) -> None:
    params = [SamplingParams(top_p=0.9, logprobs=2)] * 6
    logits = random_logits(6, 50_257)
    expected = sample(logits, rows_of(params))
    before = torch.get_num_threads()
    torch.set_num_threads(num_threads)
    monkeypatch.setattr(sampler, "_CHUNK_ELEMENTS", {"cpu": 1})
    try:
        found = sample(logits, rows_of(params))
    finally:
        torch.set_num_threads(before)
    assert found.tokens.tolist() == expected.tokens.tolist()
    assert found.logprobs is not None
    assert expected.logprobs is not None
    assert found.logprobs.logprobs.tobytes() == expected.logprobs.logprobs.tobytes()


def test_the_model_s_logits_are_left_as_they_are() -> None:
    logits = random_logits(len(KINDS), 12)
    before = logits.clone()
    sample(logits, rows_of([SamplingParams(**values) for values in KINDS]))
    assert torch.equal(logits, before)


def test_greedy_takes_the_first_of_equals() -> None:
    logits = torch.tensor([[1.0, 5.0, 5.0], [0.0, 0.0, 0.0], [-torch.inf, -1.0, -1.0]])
    assert sample(logits, rows_of([SamplingParams(temperature=0)] * 3)).tokens.tolist() == [1, 0, 1]


def test_the_least_temperature_that_draws_does_not_overflow() -> None:
    logits = torch.tensor([[3e38, -3e38, 0.0]])
    rows = rows_of([SamplingParams(temperature=1e-5)])
    assert sample(logits, rows).tokens.tolist() == [0]


def test_a_number_just_below_one_draws_the_last_possible_token(monkeypatch) -> None:
    monkeypatch.setattr(sampler, "uniforms", lambda *_: np.array([1.0 - 2.0**-53]))
    logits = torch.tensor([[0.0, 1.0, -0.5, -torch.inf, -torch.inf]])
    assert sample(logits, rows_of([SamplingParams()])).tokens.tolist() == [2]


def test_number_zero_draws_the_first_possible_token(monkeypatch) -> None:
    monkeypatch.setattr(sampler, "uniforms", lambda *_: np.array([0.0]))
    logits = torch.tensor([[-torch.inf, -torch.inf, -0.5, 1.0]])
    assert sample(logits, rows_of([SamplingParams()])).tokens.tolist() == [2]


def test_logprobs_are_the_model_s_own() -> None:
    logits = random_logits(2, 9)
    params = SamplingParams(
        temperature=0.5, top_k=1, logit_bias={4: 100.0}, repetition_penalty=2.0, logprobs=9
    )
    drawn = sample(logits, rows_of([SamplingParams(temperature=0), params]))
    assert drawn.tokens[1] == 4
    assert drawn.logprobs is not None
    assert len(drawn.logprobs) == 1
    expected = torch.log_softmax(logits[1].double(), 0)
    assert drawn.logprobs.chosen(0).logprob == pytest.approx(expected[4].item(), abs=1e-6)
    assert len(drawn.logprobs.top(0)) == 9


def test_stop_ids_are_not_drawn_before_the_least_length() -> None:
    logits = torch.zeros(200, 4)
    params = [SamplingParams(min_tokens=2, stop_token_ids=[3])] * 200
    short = sample(logits, rows_of(params, outputs=[[1]] * 200, eos_ids=[0]))
    assert set(short.tokens.tolist()) == {1, 2}
    long = sample(logits, rows_of(params, outputs=[[1, 1]] * 200, eos_ids=[0]))
    assert set(long.tokens.tolist()) == {0, 1, 2, 3}


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_logits_without_a_best_token_are_refused(value: float, temperature: float) -> None:
    logits = torch.zeros(3, 4)
    logits[1, 2] = value
    with pytest.raises(BadLogits, match=r"got (nan|inf) in row 1 of 3"):
        sample(logits, rows_of([SamplingParams(temperature=temperature)] * 3))


def test_a_row_of_minus_infinities_is_refused() -> None:
    with pytest.raises(BadLogits, match="got -inf in row 0"):
        sample(torch.full((1, 4), -torch.inf), rows_of([SamplingParams()]))


def test_no_rows_draw_nothing() -> None:
    rows = rows_of([SamplingParams()])
    empty = type(rows)(
        **{
            name: getattr(rows, name)[:0]
            for name in rows.__slots__
            if name not in ("biases", "banned", "masks", "history")
        }
    )
    assert sample(torch.zeros(0, 4), empty).tokens.tolist() == []
