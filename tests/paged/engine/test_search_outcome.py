"""A search that is given up gives what it has: complete hypotheses, then the beams that ran."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from paged.engine.beam import BeamSearch
from paged.engine.frontend import Frontend
from paged.engine.outputs import BeamScore, SequenceOutput
from paged.engine.request_maker import RequestMaker
from paged.engine.search_outcome import search_outcome
from paged.sampling_params import BeamParams, SamplingParams
from paged.scheduler.batch import Finished
from paged.scheduler.request import FinishReason, Request
from tests.helpers.hf_beams import LENGTH_PENALTY, STOP_IDS, hf_beams, hf_llm
from tests.helpers.tiny_llm import check_empty

WIDTH = 4
PROMPT = np.random.default_rng(1).integers(0, 258, 9).tolist()
REQUEST = Request(
    request_id="a",
    prompt_tokens=np.array([7, 7], np.int32),
    max_new_tokens=9,
    num_sequences=2,
    sampling=SamplingParams(beam=BeamParams(width=2)),
)


def ends(reason: FinishReason, *outputs: Sequence[int]) -> list[Finished]:
    return [
        Finished(
            request=REQUEST,
            sequence_index=index,
            tokens=np.array([7, 7, *output], np.int32),
            reason=reason,
            num_preemptions=0,
        )
        for index, output in enumerate(outputs)
    ]


def search_of_one_step() -> BeamSearch:
    """Return a search with the complete hypothesis [0] and the beams [1] and [2]."""
    search = BeamSearch(BeamParams(width=2), vocab_size=4, max_new_tokens=9, stop_ids={0})
    logits = torch.log(torch.tensor([[0.3, 0.4, 0.2, 0.1]]))
    assert not search.advance(logits, [np.zeros(0, np.int32)]).is_over
    return search


def outcome(
    search: BeamSearch, given: list[Finished]
) -> list[tuple[list[int], FinishReason, BeamScore | None]]:
    found = search_outcome(search, given)
    return [(end.tokens.tolist(), end.reason, score) for end, score in found]


def test_complete_hypotheses_come_before_beams_that_ran() -> None:
    first, second = outcome(search_of_one_step(), ends(FinishReason.ABORT, [1], [2]))
    assert first[:2] == ([7, 7, 0], FinishReason.STOP)
    assert second[:2] == ([7, 7, 1], FinishReason.ABORT)
    assert first[2] is not None
    assert first[2].logprob == first[2].score == pytest.approx(np.log(0.3))
    assert second[2] is not None
    assert second[2].logprob == pytest.approx(np.log(0.4))


def test_before_the_first_step_there_is_nothing_but_the_prompt() -> None:
    search = BeamSearch(BeamParams(width=2), vocab_size=4, max_new_tokens=9, stop_ids={0})
    nothing = ([7, 7], FinishReason.ABORT, None)
    assert outcome(search, ends(FinishReason.ABORT, [], [])) == [nothing, nothing]


def test_a_search_whose_beams_were_lost_gives_what_is_complete() -> None:
    first, second = outcome(search_of_one_step(), ends(FinishReason.ABORT, [], []))
    assert first[0] == [7, 7, 0]
    assert second == ([7, 7], FinishReason.ABORT, None)


def test_what_failed_is_left_as_it_is() -> None:
    given = ends(FinishReason.ERROR, [1], [2])
    assert list(search_outcome(search_of_one_step(), given)) == [(each, None) for each in given]


def given_up_after(num_steps: int, **options: Any) -> list[SequenceOutput]:
    """Return the outputs of a search that is aborted after so many of its steps."""
    llm = hf_llm(**options)
    frontend = Frontend(llm.engine, llm.tokenizer)
    maker = RequestMaker(llm.tokenizer, vocab_size=258, max_model_len=96, seed=0)
    params = SamplingParams(
        beam=BeamParams(width=WIDTH, length_penalty=LENGTH_PENALTY, early_stopping="never"),
        n=WIDTH,
        max_tokens=14,
        min_tokens=2,
        stop_token_ids=STOP_IDS,
    )
    frontend.add(maker.make(PROMPT, params, arrival_s=0.0))
    outputs = [SequenceOutput(index=index) for index in range(WIDTH)]
    num_drawn = 0
    while num_drawn < num_steps:
        assert frontend.step() == []
        num_drawn += len(llm.engine.scheduler.drawn.rows) > 0
    frontend.abort("0")
    for delta in frontend.step():
        outputs[delta.sequence_index].add(delta)
    check_empty(llm)
    assert not frontend.has_work
    return outputs


@pytest.mark.parametrize("options", [{}, {"max_num_batched_tokens": 5}], ids=str)
@pytest.mark.parametrize("num_steps", [2, 4, 8])
def test_the_best_of_a_search_cut_short_is_that_of_transformers(
    num_steps: int, options: dict[str, Any]
) -> None:
    found = given_up_after(num_steps, **options)
    wanted = hf_beams(PROMPT, width=WIDTH, max_new_tokens=num_steps, min_new_tokens=2)
    scores = {tuple(each.tokens): each.beam.score for each in found if each.beam is not None}
    assert len(scores) == WIDTH
    best = max(scores, key=scores.__getitem__)
    assert list(best) == wanted[0][0]
    for tokens, score in wanted:
        assert scores.get(tuple(tokens), score) == pytest.approx(score, abs=1e-4)
    is_complete = [each.tokens[-1] in STOP_IDS for each in found]
    assert is_complete == sorted(is_complete, reverse=True)
    for each, is_stopped in zip(found, is_complete, strict=True):
        assert each.reason is (FinishReason.STOP if is_stopped else FinishReason.ABORT)
        assert each.stopped_by == (each.tokens[-1] if is_stopped else None)


def test_some_searches_are_cut_short_with_complete_hypotheses() -> None:
    reasons = [{each.reason for each in given_up_after(count)} for count in (1, 8)]
    assert reasons[0] == {FinishReason.ABORT}
    assert FinishReason.STOP in reasons[1]


def test_a_search_that_has_not_begun_gives_nothing() -> None:
    found = given_up_after(0)
    assert [each.tokens for each in found] == [[]] * WIDTH
    assert {each.reason for each in found} == {FinishReason.ABORT}
