"""Beam search: hypotheses are those of transformers; beams stay on the rows of their parents."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

from paged.engine.beam import BeamSearch, BeamStep, Hypothesis
from paged.errors import BadLogits, ConfigError
from paged.sampling_params import BeamParams

VOCABULARY = 24
PROMPT = [3, 1, 4, 1, 5]


@pytest.fixture(scope="module")
def model() -> Any:
    """Return a Llama of random weights, peaked enough that beams differ in length."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(11)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        initializer_range=0.25,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=0,
    )
    return LlamaForCausalLM(config).eval()


def search(model: Any, beam: BeamSearch, width: int) -> list[Hypothesis]:
    """Run a search on whole texts, without a cache."""
    outputs = [np.zeros(0, np.int32)]
    while True:
        texts = torch.tensor([PROMPT + output.tolist() for output in outputs])
        with torch.inference_mode():
            step = beam.advance(model(texts).logits[:, -1], outputs)
        if step.is_over:
            return beam.finish([])
        assert_in_place(step)
        outputs = [
            np.append(outputs[parent], token).astype(np.int32)
            for parent, token in zip(step.parents, step.tokens, strict=True)
        ]
        assert len({output.tobytes() for output in outputs}) == width


def assert_in_place(step: BeamStep) -> None:
    assert (step.parents[step.parents] == step.parents).all()


RULES = list(product((-0.5, 0.0, 1.0, 2.0), (False, True, "never")))
CASES = [
    {"width": (2, 3, 5)[i // 4], "length_penalty": penalty, "early_stopping": stopping}
    for i, (penalty, stopping) in enumerate(RULES)
]


@pytest.mark.parametrize("stop_ids", [{7}, {2, 7, 19}], ids=str)
@pytest.mark.parametrize("values", CASES, ids=str)
def test_hypotheses_are_those_of_transformers(
    model: Any, values: dict[str, Any], stop_ids: set[int]
) -> None:
    for max_new_tokens, min_tokens in ((1, 0), (9, 0), (9, 4)):
        beam = BeamSearch(
            BeamParams(**values),
            vocab_size=VOCABULARY,
            max_new_tokens=max_new_tokens,
            stop_ids=stop_ids,
            min_tokens=min_tokens,
        )
        found = search(model, beam, values["width"])
        expected = model.generate(
            torch.tensor([PROMPT]),
            attention_mask=torch.ones(1, len(PROMPT), dtype=torch.int64),
            do_sample=False,
            num_beams=values["width"],
            num_return_sequences=values["width"],
            length_penalty=values["length_penalty"],
            early_stopping=values["early_stopping"],
            max_new_tokens=max_new_tokens,
            min_new_tokens=min_tokens or None,
            eos_token_id=sorted(stop_ids) or None,
            return_dict_in_generate=True,
            output_scores=True,
        )
        padded = expected.sequences[:, len(PROMPT) :].tolist()
        scores = expected.sequences_scores.tolist()
        # A search may end with fewer than all complete; transformers pads the list.
        complete = [row for row, score in zip(padded, scores, strict=True) if score > -1e8]
        assert len(found) == len(complete)
        for each, row, score in zip(found, complete, scores, strict=False):
            assert each.tokens.tolist() == row[: len(each.tokens)]
            assert each.score == pytest.approx(score, abs=1e-4)
            assert each.is_stopped == (int(each.tokens[-1]) in stop_ids)


def logits_of(*rows: list[float]) -> torch.Tensor:
    return torch.log(torch.tensor(rows))


def make_search(width: int = 2, max_new_tokens: int = 5, **values: Any) -> BeamSearch:
    return BeamSearch(
        BeamParams(width=width, **values), vocab_size=4, max_new_tokens=max_new_tokens, stop_ids={0}
    )


NOTHING = [np.zeros(0, np.int32)]


def test_a_beam_stays_on_the_row_of_its_parent() -> None:
    beam = make_search(width=3)
    beam.advance(logits_of([0.01, 0.5, 0.3, 0.19]), NOTHING)
    outputs = [np.array([token], np.int32) for token in (1, 2, 3)]
    # The last beam has the best continuations; the first has one; the second has none.
    flat = [0.25, 0.25, 0.25, 0.25]
    step = beam.advance(logits_of([0.1, 0.8, 0.05, 0.05], flat, [0.0, 0.02, 0.49, 0.49]), outputs)
    assert step.parents.tolist() == [0, 2, 2]
    assert step.tokens.tolist() == [1, 3, 2]


@pytest.mark.parametrize(("stopping", "is_over"), [(True, True), (False, False), ("never", False)])
def test_a_full_list_may_still_get_better(stopping: Any, is_over: bool) -> None:
    beam = make_search(early_stopping=stopping)
    beam.advance(logits_of([0.3, 0.4, 0.2, 0.1]), NOTHING)
    outputs = [np.array([1], np.int32), np.array([2], np.int32)]
    # The running beam scores log(0.18) / 2: worse than the best, better than log(0.3) / 1.
    step = beam.advance(logits_of([0.5, 0.45, 0.05, 0.0], [0.25] * 4), outputs)
    assert [each.tokens.tolist() for each in beam.hypotheses] == [[1, 0], [0]]
    assert step.is_over == is_over


@pytest.mark.parametrize(
    ("stopping", "penalty", "is_over"),
    [(False, 1.0, True), ("never", 1.0, False), ("never", 0.0, True)],
)
def test_a_longer_output_may_yet_score_better(stopping: Any, penalty: float, is_over: bool) -> None:
    beam = make_search(width=1, early_stopping=stopping, length_penalty=penalty)
    # log(0.4) / 1 is worse than log(0.6) / 1, but log(0.4) / 5 would be better.
    assert beam.advance(logits_of([0.6, 0.4, 0.0, 0.0]), NOTHING).is_over == is_over


def test_a_penalty_on_length_is_not_taken_for_granted() -> None:
    beam = make_search(early_stopping="never", length_penalty=-1.0)
    beam.advance(logits_of([0.3, 0.4, 0.2, 0.1]), NOTHING)
    outputs = [np.array([1], np.int32), np.array([2], np.int32)]
    # log(0.3) * 2 is better than log(0.056) * 2; log(0.3) * 5 would not be.
    assert not beam.advance(logits_of([0.14, 0.75, 0.11, 0.0], [0.25] * 4), outputs).is_over
    assert len(beam.hypotheses) == 2


def test_beams_go_on_below_stops_that_are_likelier() -> None:
    beam = BeamSearch(
        BeamParams(width=2, early_stopping="never"),
        vocab_size=6,
        max_new_tokens=9,
        stop_ids={0, 1, 2},
    )
    step = beam.advance(logits_of([0.3, 0.25, 0.2, 0.15, 0.05, 0.05]), NOTHING)
    assert step.tokens.tolist() == [3, 4]
    # Only the best two of all could complete.
    assert [each.tokens.tolist() for each in beam.hypotheses] == [[0], [1]]


def test_a_width_of_one_is_greedy() -> None:
    beam = make_search(width=1, max_new_tokens=3)
    step = beam.advance(logits_of([0.1, 0.2, 0.4, 0.3]), NOTHING)
    assert (step.parents.tolist(), step.tokens.tolist(), step.is_over) == ([0], [2], False)
    step = beam.advance(logits_of([0.6, 0.2, 0.1, 0.1]), [np.array([2], np.int32)])
    assert step.is_over
    (best,) = beam.finish([])
    assert (best.tokens.tolist(), best.is_stopped) == ([2, 0], True)
    assert best.logprob == pytest.approx(np.log(0.4 * 0.6))
    assert best.score == pytest.approx(np.log(0.4 * 0.6) / 2)


def test_a_search_cut_short_gives_its_running_beams() -> None:
    beam = make_search()
    beam.advance(logits_of([0.3, 0.4, 0.2, 0.1]), NOTHING)
    assert [each.tokens.tolist() for each in beam.hypotheses] == [[0]]
    found = beam.finish([np.array([1], np.int32), np.array([2], np.int32)])
    assert [each.tokens.tolist() for each in found] == [[0], [1]]
    assert [each.is_stopped for each in found] == [True, False]
    assert make_search().finish(NOTHING) == []


def test_a_search_whose_first_step_was_lost_begins_again() -> None:
    beam, logits = make_search(), logits_of([0.3, 0.4, 0.2, 0.1])
    first = beam.advance(logits, NOTHING)
    again = beam.advance(logits, NOTHING)
    assert (first.parents.tolist(), first.tokens.tolist()) == ([0, 0], [1, 2])
    assert (again.parents.tolist(), again.tokens.tolist()) == ([0, 0], [1, 2])
    assert [each.tokens.tolist() for each in beam.hypotheses] == [[0]]


def test_too_many_beams_for_the_vocabulary_are_refused() -> None:
    make_search(width=3)
    with pytest.raises(ConfigError, match=r"beam\.width: expected at most 3, .* got 4"):
        make_search(width=4)


def test_stop_ids_beyond_the_vocabulary_stop_nothing() -> None:
    beam = BeamSearch(
        BeamParams(width=4), vocab_size=4, max_new_tokens=2, stop_ids={4, 99}, min_tokens=1
    )
    assert beam.advance(logits_of([0.1, 0.2, 0.3, 0.4]), NOTHING).tokens.tolist() == [3, 2, 1, 0]


def test_broken_logits_are_refused() -> None:
    with pytest.raises(BadLogits):
        make_search().advance(torch.full((1, 4), torch.nan), NOTHING)
