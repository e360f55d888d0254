"""Reports about drawing and text in other engines, asked of the tiny model."""

from __future__ import annotations

import json

import pytest

from paged.engine.outputs import SequenceOutput
from paged.errors import ConfigError
from paged.sampling_params import SamplingParams
from paged.scheduler.request import FinishReason
from tests.helpers.tiny_llm import MAX_MODEL_LEN, check_empty, tiny_llm

PROMPT = "the quick brown fox"


def outputs_of(params: SamplingParams) -> list[SequenceOutput]:
    llm = tiny_llm()
    (output,) = llm.generate(PROMPT, params)
    check_empty(llm)
    return output.outputs


def test_masked_tokens_have_logprobs_that_json_can_carry() -> None:
    """vllm#10234, sglang#5984: "out of range float" where a token was ruled out."""
    params = SamplingParams(
        top_k=1, logprobs=20, logit_bias={5: -100.0}, min_tokens=4, max_tokens=4, ignore_eos=False
    )
    (output,) = outputs_of(params)
    assert output.logprobs is not None
    values = [each.logprob for place in output.logprobs for each in (place.token, *place.top)]
    assert len(values) == 4 * 21
    json.dumps(values, allow_nan=False)


def test_a_report_of_no_alternatives_is_one_of_the_token_alone() -> None:
    """vllm#4795: log-probabilities without alternatives were an error."""
    (output,) = outputs_of(SamplingParams(logprobs=0, max_tokens=3))
    assert output.logprobs is not None
    assert [(each.token.token, each.top) for each in output.logprobs] == [
        (token, ()) for token in output.tokens
    ]


def test_one_token_is_one_token() -> None:
    """llama.cpp#4790: a limit of 1 gave 4 tokens."""
    (output,) = outputs_of(SamplingParams(max_tokens=1, ignore_eos=True))
    assert (len(output.tokens), output.reason) == (1, FinishReason.LENGTH)


@pytest.mark.parametrize("biases", [{999999999: 1.0}, {-1: 1.0}, {"abc": 1.0}])
def test_a_bias_of_a_token_that_is_none_is_refused(biases: dict[int, float]) -> None:
    """vllm#16529, #6866, sglang#7670: the engine crashed."""
    llm = tiny_llm()
    with pytest.raises(ConfigError, match=r"^logit_bias: "):
        llm.generate(PROMPT, SamplingParams(logit_bias=biases))
    assert llm.generate(PROMPT)[0].outputs[0].tokens


@pytest.mark.parametrize("max_tokens", [2**31, 2**63, 10**30])
def test_a_huge_limit_ends_with_the_context(max_tokens: int) -> None:
    """vllm#1543: the engine was killed."""
    llm = tiny_llm()
    (output,) = llm.generate(PROMPT, SamplingParams(max_tokens=max_tokens, ignore_eos=True))
    total = len(output.prompt_tokens) + len(output.outputs[0].tokens)
    assert total == MAX_MODEL_LEN
    assert output.outputs[0].reason is FinishReason.LENGTH


def test_sequences_of_one_seed_differ_and_repeat() -> None:
    """vllm#10852, #17929: with a seed all n choices were the same."""
    params = SamplingParams(n=3, seed=42, temperature=1.0, max_tokens=12, ignore_eos=True)
    first, again = ([each.tokens for each in outputs_of(params)] for _ in range(2))
    assert first == again
    assert len({tuple(tokens) for tokens in first}) == 3


def test_a_stop_string_is_never_seen_in_part() -> None:
    """vllm#3574, #2577: the beginning of a stop string was streamed."""
    llm = tiny_llm()
    params = SamplingParams(seed=7, max_tokens=40, ignore_eos=True)
    (whole,) = llm.generate(PROMPT, params)
    text = whole.outputs[0].text
    stop = text[7:12]
    start = text.index(stop)
    stopping = SamplingParams(seed=7, max_tokens=40, ignore_eos=True, stop=["never said", stop])
    seen = ""
    with llm.stream(PROMPT, stopping) as stream:
        for _, delta in stream:
            seen += delta.text
            assert text[:start].startswith(seen)
    assert seen == text[:start]
    check_empty(llm)


def test_a_character_cut_off_shows_once() -> None:
    """vllm-mlx#109, exo#1691: a replacement character for each byte."""
    first_byte = "漢".encode()[0]
    params = SamplingParams(temperature=0, max_tokens=1, logit_bias={first_byte: 100.0})
    (output,) = outputs_of(params)
    assert (output.tokens, output.text) == ([first_byte], "\ufffd")
