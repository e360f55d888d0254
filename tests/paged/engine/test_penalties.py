"""Penalties and biases against the token-by-token oracle."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from paged.engine.penalties import add, count_tokens, forbid, penalize
from paged.engine.sample_rows import Entries, History, Masks
from paged.sampling_params import SamplingParams
from tests.helpers.sampling_oracle import changed_logits

VOCABULARY = 7
TOKENS = st.lists(st.integers(0, VOCABULARY - 1), max_size=9)
PENALTIES = st.sampled_from([-2.0, -0.5, 0.0, 0.3, 2.0])


def history(texts: list[tuple[list[int], list[int]]], params: list[SamplingParams]) -> History:
    """Histories of (prompt, output) pairs, in rows of a matrix in another order."""
    width = max(len(prompt) + len(output) for prompt, output in texts)
    tokens = np.full((len(texts) + 1, width), VOCABULARY - 1, np.int32)
    for i, (prompt, output) in enumerate(texts):
        tokens[-1 - i, : len(prompt) + len(output)] = prompt + output
    return History(
        rows=np.arange(len(texts)),
        tokens=tokens,
        token_rows=len(texts) - np.arange(len(texts)),
        num_prompt_tokens=np.array([len(prompt) for prompt, _ in texts]),
        num_tokens=np.array([len(prompt) + len(output) for prompt, output in texts]),
        presence=np.array([each.presence_penalty for each in params]),
        frequency=np.array([each.frequency_penalty for each in params]),
        repetition=np.array([each.repetition_penalty for each in params]),
    )


def test_tokens_are_counted_in_the_output_and_seen_in_the_prompt() -> None:
    plain = [SamplingParams()] * 2
    counts = count_tokens(history([([1, 1, 2], [2, 5, 5]), ([4], [])], plain))
    assert counts.places.tolist() == [0, 0, 0, 1]
    assert counts.tokens.tolist() == [1, 2, 5, 4]
    assert counts.num_in_output.tolist() == [0, 1, 2, 0]


@given(st.lists(st.tuples(TOKENS, TOKENS, PENALTIES, PENALTIES), min_size=1, max_size=4), st.data())
def test_penalties_are_those_of_the_oracle(
    rows: list[tuple[list[int], list[int], float, float]], data: st.DataObject
) -> None:
    params = [
        SamplingParams(
            presence_penalty=presence,
            frequency_penalty=frequency,
            repetition_penalty=data.draw(st.sampled_from([0.5, 1.0, 1.3])),
        )
        for _, _, presence, frequency in rows
    ]
    texts = [(prompt, output) for prompt, output, _, _ in rows]
    logits = np.random.default_rng(len(rows)).normal(size=(len(rows), VOCABULARY)) * 4
    changed = torch.tensor(logits, dtype=torch.float32)
    penalize(changed, history(texts, params))
    expected = [
        changed_logits(row, each, prompt, output)
        for row, each, (prompt, output) in zip(logits.tolist(), params, texts, strict=True)
    ]
    # Four roundings in float32 of numbers below 40.
    np.testing.assert_allclose(changed.numpy(), expected, rtol=0, atol=2e-5)


def test_only_penalised_rows_change() -> None:
    logits = torch.ones(3, VOCABULARY)
    params = [SamplingParams(presence_penalty=1.0)]
    one = history([([0], [3])], params)
    penalize(
        logits,
        History(**{name: getattr(one, name) for name in one.__slots__} | {"rows": np.array([1])}),
    )
    assert logits.sum(1).tolist() == [7.0, 6.0, 7.0]
    assert logits[1, 3] == 0.0


def test_minus_infinity_stays() -> None:
    logits = torch.full((1, VOCABULARY), -torch.inf)
    logits[0, 0] = 1.0
    params = [SamplingParams(repetition_penalty=0.5, frequency_penalty=-2.0)]
    penalize(logits, history([([1], [2, 2])], params))
    assert logits[0].tolist() == [1.0] + [-torch.inf] * 6


def test_values_are_added_at_their_places() -> None:
    logits = torch.zeros(2, 3)
    entries = Entries(
        rows=np.array([0, 1, 1]), tokens=np.array([2, 0, 1]), values=np.array([1.5, -np.inf, 2])
    )
    add(logits, entries)
    assert logits.tolist() == [[0.0, 0.0, 1.5], [-torch.inf, 2.0, 0.0]]


def test_what_no_mask_allows_is_impossible_and_the_rest_stays() -> None:
    logits = torch.arange(3.0 * VOCABULARY).reshape(3, VOCABULARY)
    before = logits.clone()
    allowed = np.zeros((2, VOCABULARY), np.bool_)
    allowed[0, [1, 3]] = allowed[1, 0] = True
    forbid(logits, Masks(rows=np.array([2, 0]), allowed=allowed))
    assert logits[1].tolist() == before[1].tolist()
    assert (logits[2].isfinite().nonzero()[:, 0].tolist()) == [1, 3]
    assert (logits[0].isfinite().nonzero()[:, 0].tolist()) == [0]
    assert logits[2, 3] == before[2, 3]
