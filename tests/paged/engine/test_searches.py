"""Beam search on a real model: the hypotheses of transformers, whatever the engine does around."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from paged.engine.llm import LLM
from paged.errors import RequestRefused
from paged.sampling_params import BeamParams, SamplingParams
from paged.scheduler.batch import Finished, StepResult
from paged.scheduler.request import FinishReason, Request
from tests.helpers.hf_beams import LENGTH_PENALTY, STOP_IDS, hf_beams, hf_llm
from tests.helpers.tiny_llm import (
    MAX_MODEL_LEN,
    StepLog,
    check_empty,
    tiny_llm,
)

MAX_TOKENS = 14
WIDTHS = (2, 4, 3, 4, 2)
PROMPTS = [
    np.random.default_rng(number).integers(0, 258, 5 + 4 * number).tolist() for number in range(5)
]


def beam_params(width: int, **values: Any) -> SamplingParams:
    beam = BeamParams(width=width, length_penalty=LENGTH_PENALTY)
    return SamplingParams(beam=beam, n=width, max_tokens=MAX_TOKENS, **values)


@lru_cache(maxsize=8)
def wanted(number: int) -> list[tuple[list[int], float]]:
    """Return what transformers makes of one of the prompts: tokens and scores."""
    return hf_beams(
        PROMPTS[number], width=WIDTHS[number], max_new_tokens=MAX_TOKENS, min_new_tokens=2
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_num_batched_tokens": 7},
        {"num_blocks": 26, "enable_prefix_caching": False},
        {"num_blocks": 26},
        {"num_blocks": 26, "preemption": "swap"},
        {"allocator": "reserved-max", "num_blocks": 16 * 24},
        {"allocator": "virtual", "num_blocks": 80},
    ],
    ids=str,
)
def test_searches_are_those_of_transformers(options: dict[str, Any]) -> None:
    llm, log = hf_llm(**options), StepLog()
    llm.engine.observers = (*llm.engine.observers, log)
    # The model's own end is among the ids; some requests ignore it as such, and name it.
    assert llm.tokenizer.eos_ids == {STOP_IDS[-1]}
    params = [
        beam_params(
            width,
            min_tokens=2,
            ignore_eos=number % 2 == 0,
            stop_token_ids=STOP_IDS if number % 2 == 0 else STOP_IDS[:-1],
        )
        for number, width in enumerate(WIDTHS)
    ]
    # A sequence that is drawn takes part in the same steps.
    drawn = SamplingParams(seed=1, n=2, max_tokens=9, logprobs=2)
    outputs = llm.generate([*PROMPTS, "company"], [*params, drawn])
    for number, output in enumerate(outputs[:-1]):
        assert [each.tokens for each in output.outputs] == [tokens for tokens, _ in wanted(number)]
        for each, (_, score) in zip(output.outputs, wanted(number), strict=True):
            assert each.beam is not None
            assert each.beam.score == pytest.approx(score, abs=1e-4)
            summed = each.beam.score * len(each.tokens) ** LENGTH_PENALTY
            assert each.cumulative_logprob == pytest.approx(summed, rel=1e-5)
            last = each.tokens[-1]
            is_stopped = last in STOP_IDS
            assert each.reason == (FinishReason.STOP if is_stopped else FinishReason.LENGTH)
            is_named = last in params[number].stop_token_ids
            assert each.stopped_by == (last if is_named else None)
    assert [len(each.logprobs or ()) for each in outputs[-1].outputs] == [9, 9]
    assert [each.beam for each in outputs[-1].outputs] == [None, None]
    check_empty(llm)
    if options.get("num_blocks") == 26:
        assert log.count("num_preempted")
    if options.get("preemption") == "swap":
        assert log.count("swap_in")
    if options.get("allocator", "paged") == "paged":
        assert log.count("copies")


def test_lengths_differ_so_that_searches_end_in_different_steps() -> None:
    lengths = {len(row) for i in range(5) for row, _ in wanted(i)}
    assert len(lengths) > 3


def test_the_best_of_a_wider_search_are_returned() -> None:
    llm = tiny_llm()
    wide = SamplingParams(beam=BeamParams(width=4), n=4, max_tokens=6)
    few = SamplingParams(beam=BeamParams(width=4), n=2, max_tokens=6)
    (all_of_them,) = llm.generate("the quick brown", wide)
    (best,) = llm.generate("the quick brown", few)
    assert [each.tokens for each in best.outputs] == [
        each.tokens for each in all_of_them.outputs[:2]
    ]
    assert len(best.outputs) == 2
    assert len({tuple(each.tokens) for each in all_of_them.outputs}) == 4
    check_empty(llm)


def test_a_stream_brings_each_hypothesis_whole() -> None:
    llm = tiny_llm()
    params = SamplingParams(beam=BeamParams(width=3), n=2, max_tokens=5, ignore_eos=True)
    with llm.stream("a stream", params) as stream:
        deltas = [delta for _, delta in stream]
    assert [delta.sequence_index for delta in deltas] == [0, 1]
    assert [len(delta.tokens) for delta in deltas] == [5, 5]
    assert {delta.reason for delta in deltas} == {FinishReason.LENGTH}


def test_a_prompt_reports_its_logprobs_beside_a_search() -> None:
    params = SamplingParams(beam=BeamParams(width=2), max_tokens=3, prompt_logprobs=1)
    (output,) = tiny_llm().generate([[5, 6, 7, 8]], params)
    assert output.prompt_logprobs is not None
    assert output.prompt_logprobs[0] is None
    assert all(each is not None for each in output.prompt_logprobs[1:])


def test_beams_that_cannot_be_are_refused_at_once() -> None:
    llm = tiny_llm(max_num_seqs=4, max_num_batched_tokens=3)
    with pytest.raises(RequestRefused, match="4 beams take every step together"):
        llm.generate("a", SamplingParams(beam=BeamParams(width=4)))
    llm = tiny_llm(max_num_seqs=4)
    with pytest.raises(RequestRefused, match="5 sequences exceed the 4"):
        llm.generate("a", SamplingParams(beam=BeamParams(width=5)))
    check_empty(llm)


def test_searches_are_forgotten_with_their_requests() -> None:
    llm = tiny_llm()
    executor: Any = llm.engine.executor
    params = SamplingParams(beam=BeamParams(width=2), max_tokens=30, ignore_eos=True)
    with llm.stream("given up", params):
        pass
    stream = llm.stream("given up later", params)
    for _ in range(3):
        llm.engine.step()
    assert len(executor.searches._running) == 1
    stream.close()
    llm.generate("another", params)
    assert not executor.searches._running
    check_empty(llm)


def test_the_model_s_own_end_can_be_ignored() -> None:
    params = beam_params(WIDTHS[1], ignore_eos=True)
    (output,) = hf_llm().generate([PROMPTS[1]], params)
    assert {(len(each.tokens), each.reason) for each in output.outputs} == {
        (MAX_TOKENS, FinishReason.LENGTH)
    }


class ResultLog:
    """Observer that keeps what steps came to."""

    def __init__(self, llm: LLM) -> None:
        self.results: list[StepResult] = []
        llm.engine.observers = (*llm.engine.observers, self)

    def on_step(self, *, result: StepResult, **_: Any) -> None:
        self.results.append(result)

    def on_finished(self, finished: Finished, *, now_s: float) -> None: ...


def make_request(request_id: str, max_new_tokens: int, num_prompt_tokens: int = 3) -> Request:
    return Request(
        request_id=request_id,
        prompt_tokens=np.arange(num_prompt_tokens, dtype=np.int32),
        max_new_tokens=max_new_tokens,
        num_sequences=2,
        sampling=SamplingParams(beam=BeamParams(width=2), seed=0, ignore_eos=True),
    )


def test_a_search_is_over_where_the_context_ends() -> None:
    llm = tiny_llm()
    log = ResultLog(llm)
    llm.engine.add_request(make_request("a", 10**6, num_prompt_tokens=MAX_MODEL_LEN - 4))
    while llm.engine.has_work:
        llm.engine.step()
    assert [len(result.searches) for result in log.results] == [0, 0, 0, 1]
    assert [len(output) for output in log.results[-1].searches[0].outputs] == [4, 4]


def test_beams_stay_where_they_are_in_the_first_step() -> None:
    llm = tiny_llm()
    log = ResultLog(llm)
    llm.generate("a", SamplingParams(beam=BeamParams(width=3), max_tokens=2))
    parents = log.results[0].parents
    assert parents is not None
    assert parents.tolist() == [0, 1, 2]


def test_an_id_used_again_is_another_search() -> None:
    llm = tiny_llm()
    log = ResultLog(llm)
    llm.engine.add_request(make_request("a", 20))
    for _ in range(5):
        llm.engine.step()
    llm.engine.abort("a")
    # The end of the first is told in the step that admits the second.
    llm.engine.add_request(make_request("a", 6))
    while llm.engine.has_work:
        assert not any(each.error for each in llm.engine.step())
    (ended,) = log.results[-1].searches
    assert [len(output) for output in ended.outputs] == [6, 6]
    check_empty(llm)


def test_a_failing_step_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    llm = tiny_llm()
    executor: Any = llm.engine.executor
    advance: Callable[..., Any] = executor.searches.advance
    calls: list[int] = []

    def failing(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise ArithmeticError("broken")
        return advance(*arguments)

    monkeypatch.setattr(executor.searches, "advance", failing)
    params = SamplingParams(beam=BeamParams(width=2), max_tokens=9)
    with pytest.raises(Exception, match="broken"):
        llm.generate("a", params)
    assert not executor.searches._running
    assert llm.generate("a", params)[0].outputs[0].tokens
    check_empty(llm)
