"""Constrained decoding end to end: whatever is drawn parses, in every state a row can be in."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paged.engine.llm import LLM
from paged.engine.outputs import SequenceOutput
from paged.errors import ConfigError, OutOfBlocks, RequestFailed
from paged.grammar import Grammar
from paged.sampling_params import BeamParams, SamplingParams
from paged.scheduler.request import FinishReason
from tests.helpers.json_values import is_valid, schemas
from tests.helpers.tiny_llm import StepLog, check_empty, tiny_llm

# A random model would fill JSON with white space.
COMPACT = {ord(" "): -100.0, ord("\n"): -100.0}
DIGITS = Grammar.regex("[0-9]{20,30}")
ARMS: dict[str, dict[str, Any]] = {
    "plain": {},
    "chunked": {"max_num_batched_tokens": 9},
    "recompute": {"num_blocks": 34},
    "swap": {"num_blocks": 34, "preemption": "swap", "num_host_blocks": 40},
}


def _outputs(llm: LLM, prompts: list[str], params: list[SamplingParams]) -> list[SequenceOutput]:
    return [each for output in llm.generate(prompts, params) for each in output.outputs]


@pytest.fixture(scope="module")
def llm() -> LLM:
    return tiny_llm()


@st.composite
def patterns(draw: st.DrawFn) -> str:
    """Draw an expression that Python and Rust read alike."""
    atom = st.sampled_from(["a", "[b-f]", r"\.", "(xy|z)", "é", "(1|22|333)", r"\+"])
    times = st.sampled_from(["", "?", "{2}", "{0,3}", "*", "+"])
    parts = draw(st.lists(st.tuples(atom, times), min_size=1, max_size=6))
    return "".join("".join(part) for part in parts)


@given(pattern=patterns(), seed=st.integers(0, 99), greedy=st.booleans())
@settings(max_examples=30)
def test_whatever_is_drawn_matches_an_expression(
    llm: LLM, pattern: str, seed: int, greedy: bool
) -> None:
    params = SamplingParams(
        grammar=Grammar.regex(pattern), seed=seed, temperature=0.0 if greedy else 1.5, max_tokens=40
    )
    (output,) = _outputs(llm, ["hello"], [params])
    assert output.error is None
    if output.reason is FinishReason.STOP:
        assert re.fullmatch(pattern, output.text), (pattern, output.text)
    else:
        assert len(output.tokens) == 40


@given(schema=schemas(), seed=st.integers(0, 99))
@settings(max_examples=30)
def test_whatever_is_drawn_is_json_of_its_schema(llm: LLM, schema: Any, seed: int) -> None:
    params = SamplingParams(
        grammar=Grammar.json_schema(schema), seed=seed, logit_bias=COMPACT, max_tokens=80
    )
    (output,) = _outputs(llm, ["hello"], [params])
    assert output.error is None
    if output.reason is FinishReason.STOP:
        assert is_valid(json.loads(output.text), schema), (schema, output.text)


@pytest.mark.parametrize("arm", ARMS)
def test_outputs_are_the_same_however_rows_are_scheduled(arm: str) -> None:
    """Preempted, in chunks or forked: the same draws, so the same texts, and all of them match."""
    params = [
        SamplingParams(grammar=DIGITS, seed=1, n=3, max_tokens=40, logprobs=2),
        SamplingParams(seed=2, max_tokens=30, ignore_eos=True),
        SamplingParams(grammar=DIGITS, seed=3, n=2, max_tokens=40),
        SamplingParams(grammar=Grammar.choice(["yes", "no"]), seed=4, max_tokens=40),
    ]
    prompts = ["a prompt of some length", "another", "a prompt of some", "last"]
    calm, busy = tiny_llm(num_blocks=96), tiny_llm(**ARMS[arm])
    log = StepLog()
    busy.engine.observers = (*busy.engine.observers, log)
    expected, found = (_outputs(each, prompts, params) for each in (calm, busy))
    assert [each.text for each in found] == [each.text for each in expected]
    assert log.count("num_preempted") > 0 or arm in ("plain", "chunked")
    assert log.count("swap_in") > 0 or arm != "swap"
    digits = [*found[:3], *found[4:6]]
    assert all(re.fullmatch("[0-9]{20,30}", each.text) for each in digits)
    assert len({each.text for each in digits}) == 5
    assert found[6].text in ("yes", "no")
    assert not re.fullmatch("[0-9]*", found[3].text)
    assert all(each.reason is FinishReason.STOP for each in digits)
    check_empty(busy)


def test_a_group_that_could_not_fork_draws_again_and_others_are_not_mistaken_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    llm, num_tries = tiny_llm(), 0
    fork = llm.engine.scheduler.allocator.fork

    def fail_first(*arguments: Any) -> Any:
        nonlocal num_tries
        num_tries += 1
        if num_tries == 1:
            raise OutOfBlocks(num_needed=1, num_available=0)
        return fork(*arguments)

    monkeypatch.setattr(llm.engine.scheduler.allocator, "fork", fail_first)
    texts = ["abc", "a", "abcdef"]
    params = [
        SamplingParams(grammar=Grammar.choice([text]), n=n)
        for text, n in zip(texts, (3, 1, 1), strict=True)
    ]
    outputs = _outputs(llm, ["one", "two", "three"], params)
    assert num_tries == 2
    assert [each.text for each in outputs] == ["abc", "abc", "abc", "a", "abcdef"]
    assert [each.tokens[-1] for each in outputs] == [*b"cccaf"]
    check_empty(llm)


def test_what_is_complete_ends_with_its_last_token(llm: LLM) -> None:
    log = StepLog()
    before = llm.engine.observers
    llm.engine.observers = (*before, log)
    (output,) = _outputs(llm, ["a"], [SamplingParams(grammar=Grammar.choice(["abc"]))])
    llm.engine.observers = before
    assert (output.text, output.tokens, output.reason) == ("abc", [*b"abc"], FinishReason.STOP)
    assert len(log.batches) == 3
    check_empty(llm)


@pytest.mark.parametrize("values", [{"ignore_eos": True}, {"min_tokens": 10}])
def test_what_is_complete_ends_whatever_else_is_asked_for(llm: LLM, values: Any) -> None:
    params = [SamplingParams(grammar=Grammar.regex(each), **values) for each in ("abc", "()")]
    outputs = _outputs(llm, ["a", "b"], params)
    assert [each.text for each in outputs] == ["abc", ""]
    assert {each.reason for each in outputs} == {FinishReason.STOP}


def test_a_stop_string_ends_it_before(llm: LLM) -> None:
    params = SamplingParams(grammar=Grammar.choice(["one two three"]), stop=" two")
    (output,) = _outputs(llm, ["a"], [params])
    assert (output.text, output.stopped_by, output.reason) == ("one", " two", FinishReason.STOP)


def test_what_a_stop_string_held_back_comes_with_the_end(llm: LLM) -> None:
    params = SamplingParams(grammar=Grammar.choice(["one tw"]), stop=" two")
    (output,) = _outputs(llm, ["a"], [params])
    assert (output.text, output.stopped_by, output.reason) == ("one tw", None, FinishReason.STOP)


def test_a_stop_id_within_the_grammar_ends_it_and_says_so(llm: LLM) -> None:
    params = SamplingParams(grammar=Grammar.choice(["ab"]), stop_token_ids=[ord("b")])
    (output,) = _outputs(llm, ["a"], [params])
    assert (output.text, output.stopped_by) == ("a", ord("b"))


def test_the_limit_of_tokens_cuts_it(llm: LLM) -> None:
    params = SamplingParams(grammar=Grammar.choice(["one two"]), max_tokens=3)
    (output,) = _outputs(llm, ["a"], [params])
    assert (output.text, output.reason) == ("one", FinishReason.LENGTH)


def test_log_probabilities_are_the_models_own(llm: LLM) -> None:
    params = SamplingParams(grammar=Grammar.choice(["q"]), logprobs=3)
    (output,) = _outputs(llm, ["a"], [params])
    assert output.logprobs is not None
    (first,) = output.logprobs
    assert first.token.logprob < 0.0
    assert len(first.top) == 3
    assert first.top[0].logprob >= first.token.logprob > -1000.0


def test_a_bad_grammar_is_refused_before_anything_runs(llm: LLM) -> None:
    check_empty(llm)
    params = [SamplingParams(), SamplingParams(grammar=Grammar.regex("a("))]
    with pytest.raises(ConfigError, match=r"^grammar\.regex: .*unclosed group"):
        llm.generate(["a", "b"], params)
    assert not llm.engine.has_work


def test_a_search_takes_no_grammar() -> None:
    with pytest.raises(ConfigError, match=r"^grammar: expected its default beside beam"):
        SamplingParams(grammar=Grammar.regex("a"), beam=BeamParams(width=2))
    with pytest.raises(ConfigError, match=r"^grammar: expected a Grammar, .* got 'a\+'"):
        SamplingParams(grammar="a+")  # type: ignore[arg-type]


def test_a_grammar_that_gets_too_complex_fails_alone(llm: LLM) -> None:
    many = {"type": "object", "properties": {f"p{i}": {"type": "string"} for i in range(1200)}}
    params = [
        SamplingParams(grammar=Grammar.json_schema(many), logit_bias=COMPACT),
        SamplingParams(grammar=Grammar.regex("[a-z]{9}")),
    ]
    with pytest.raises(RequestFailed, match=r"1 of 2 requests failed: .* max is 2000") as caught:
        llm.generate(["a", "b"], params)
    failed, whole = (output.outputs[0] for output in caught.value.outputs)  # type: ignore[attr-defined]
    assert (failed.reason, whole.reason) == (FinishReason.ERROR, FinishReason.STOP)
    assert re.fullmatch("[a-z]{9}", whole.text)
    check_empty(llm)
