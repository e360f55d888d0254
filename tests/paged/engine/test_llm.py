"""The front door: prompts in every form, options, streams, errors."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import pytest
import torch

from model_zoo.transformer import forward
from paged.engine.llm import LLM
from paged.engine.outputs import RequestOutput
from paged.errors import ConfigError, RequestFailed, RequestRefused
from paged.sampling_params import SamplingParams
from paged.scheduler.request import FinishReason
from tests.helpers.tiny_llm import check_empty, tiny_llm

GREEDY = SamplingParams(temperature=0.0, max_tokens=6, ignore_eos=True)


@pytest.fixture
def llm() -> LLM:
    return tiny_llm()


def _tokens(outputs: list[RequestOutput]) -> list[list[int]]:
    return [output.outputs[0].tokens for output in outputs]


def test_a_text_is_one_prompt(llm: LLM) -> None:
    (output,) = llm.generate("hello", GREEDY)
    assert output.prompt == "hello"
    assert output.prompt_tokens == [256, *b"hello"]
    (sequence,) = output.outputs
    assert (len(sequence.tokens), sequence.reason) == (6, FinishReason.LENGTH)
    assert sequence.text == bytes(t for t in sequence.tokens if t < 256).decode(errors="replace")


@pytest.mark.parametrize("ids", [[256, 104, 105], (256, 104, 105), np.array([256, 104, 105])])
def test_ids_are_one_prompt(llm: LLM, ids: Any) -> None:
    (output,) = llm.generate(ids, GREEDY)
    assert (output.prompt, output.prompt_tokens) == (None, [256, 104, 105])
    assert _tokens([output]) == _tokens(llm.generate("hi", GREEDY))


def test_several_prompts_keep_their_order_and_may_differ_in_form(llm: LLM) -> None:
    both = llm.generate(["hi", [256, 97]], GREEDY)
    assert _tokens(both) == _tokens([*llm.generate("hi", GREEDY), *llm.generate("a", GREEDY)])


def test_no_prompts_give_no_outputs(llm: LLM) -> None:
    assert llm.generate([], GREEDY) == []


def test_each_prompt_may_have_parameters_of_its_own(llm: LLM) -> None:
    params = [SamplingParams(max_tokens=count, ignore_eos=True) for count in (1, 3)]
    assert [len(tokens) for tokens in _tokens(llm.generate(["a", "b"], params))] == [1, 3]
    with pytest.raises(ConfigError, match="sampling parameters for 1 prompts, got 2"):
        llm.generate(["a"], params)


def test_a_chat_is_one_conversation_or_several(llm: LLM) -> None:
    chat = [{"role": "user", "content": "hi"}]
    (output,) = llm.chat(chat, GREEDY)
    assert output.prompt == "user: hi\nassistant: "
    assert output.prompt_tokens[0] != 256
    assert _tokens(llm.chat([chat, chat], GREEDY)) == _tokens([output]) * 2


def test_streams_join_to_the_whole(llm: LLM) -> None:
    wanted = llm.generate(["hello", "you"], GREEDY)
    texts, tokens = ["", ""], [[], []]
    for index, delta in llm.stream(["hello", "you"], GREEDY):
        texts[index] += delta.text
        tokens[index] += delta.tokens
    assert texts == [output.outputs[0].text for output in wanted]
    assert tokens == _tokens(wanted)
    chat = [{"role": "user", "content": "hi"}]
    streamed = "".join(delta.text for _, delta in llm.stream_chat(chat, GREEDY))
    assert streamed == llm.chat(chat, GREEDY)[0].outputs[0].text


def test_sequences_of_a_group_differ_and_the_call_repeats(llm: LLM) -> None:
    params = SamplingParams(n=3, seed=42, temperature=1.0, max_tokens=8)
    first, second = (llm.generate("hello", params)[0] for _ in range(2))
    texts = [tuple(sequence.tokens) for sequence in first.outputs]
    assert len(set(texts)) == 3
    assert texts == [tuple(sequence.tokens) for sequence in second.outputs]


def test_requests_without_a_seed_differ_and_the_engine_repeats_them() -> None:
    params = SamplingParams(temperature=1.0, max_tokens=8)
    runs = [_tokens(tiny_llm(seed=seed).generate(["a", "a"], params)) for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]
    assert runs[0][0] != runs[0][1]


def test_a_stop_string_never_shows_and_ends_the_output(llm: LLM) -> None:
    free = llm.generate("hello", SamplingParams(temperature=0.9, seed=4, max_tokens=40))[0]
    text = free.outputs[0].text
    stop = text[10:12]
    params = SamplingParams(temperature=0.9, seed=4, max_tokens=40, stop=stop)
    (sequence,) = llm.generate("hello", params)[0].outputs
    assert sequence.text == text[: text.index(stop)]
    assert (sequence.reason, sequence.stopped_by) == (FinishReason.STOP, stop)
    check_empty(llm)


def test_stop_ids_wait_for_the_least_length(llm: LLM) -> None:
    first = _tokens(llm.generate("hello", GREEDY))[0][0]
    stopped = SamplingParams(temperature=0.0, max_tokens=6, stop_token_ids=[first])
    (sequence,) = llm.generate("hello", stopped)[0].outputs
    assert (sequence.tokens, sequence.stopped_by) == ([first], first)
    later = SamplingParams(temperature=0.0, max_tokens=6, stop_token_ids=[first], min_tokens=4)
    (sequence,) = llm.generate("hello", later)[0].outputs
    assert len(sequence.tokens) >= 5
    assert first not in sequence.tokens[:4]


def test_log_probabilities_are_those_of_the_model(llm: LLM) -> None:
    params = SamplingParams(temperature=0.0, max_tokens=4, logprobs=2, ignore_eos=True)
    (sequence,) = llm.generate("hello", params)[0].outputs
    assert sequence.logprobs is not None
    assert [each.token.token for each in sequence.logprobs] == sequence.tokens
    assert all(each.token == each.top[0] and len(each.top) == 2 for each in sequence.logprobs)
    assert sequence.cumulative_logprob == sum(each.token.logprob for each in sequence.logprobs)


@pytest.mark.parametrize("budget", [4, 2048])
def test_prompt_log_probabilities_are_those_of_one_pass(
    budget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # vllm#8268, #13105: with a cached prefix the values are those of a cold run.
    seen: list[torch.Tensor] = []

    def watched(*operands: Any) -> torch.Tensor:
        seen.append(forward(*operands))
        return seen[-1]

    llm = tiny_llm(max_num_batched_tokens=budget)
    params = SamplingParams(temperature=0.0, max_tokens=1, prompt_logprobs=1, n=2)
    monkeypatch.setattr(llm.engine.executor, "forward", watched)
    cold, warm = (llm.generate("hello world", params)[0] for _ in range(2))
    assert warm.num_cached_tokens == 0
    assert cold.prompt_logprobs == warm.prompt_logprobs
    assert cold.prompt_logprobs is not None
    first, *rest = cold.prompt_logprobs
    assert first is None
    assert [each.token.token for each in rest if each is not None] == cold.prompt_tokens[1:]
    if budget > len(cold.prompt_tokens):
        # The draw is first, then the prompt.
        exact = seen[0][1:].double().log_softmax(dim=1)
        wanted = exact[torch.arange(len(rest)), torch.tensor(cold.prompt_tokens[1:])]
        got = [each.token.logprob for each in rest if each is not None]
        # Rounded to float32 once.
        np.testing.assert_allclose(got, wanted.numpy(), rtol=1e-5)


def test_a_prefix_is_cached_for_those_who_ask_for_nothing_of_it(llm: LLM) -> None:
    (cold,), (warm,) = (llm.generate("hello world", GREEDY) for _ in range(2))
    assert (cold.num_cached_tokens, warm.num_cached_tokens) == (0, 11)


def test_priorities_decide_who_runs_first() -> None:
    llm = tiny_llm(policy="priority", max_num_seqs=1)
    late = llm.stream("late", GREEDY, priority=2)
    early = llm.stream("early", GREEDY, priority=1)
    list(late)
    # What the other was told meanwhile waited for its reader: it ended first.
    assert early.streams[0].is_over


def test_kernels_are_those_of_the_options() -> None:
    llm = tiny_llm(kernels={"attention": "reference", "rope_write_kv": "reference"})
    assert len(_tokens(llm.generate("hello", GREEDY))[0]) == 6


def test_a_failed_step_raises_at_the_end_with_all_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    llm = tiny_llm(cuda_graph_sizes=())
    num_steps = 0

    def fail_third(*operands: Any) -> torch.Tensor:
        nonlocal num_steps
        num_steps += 1
        if num_steps == 3:
            raise ArithmeticError("broken")
        return forward(*operands)

    monkeypatch.setattr(llm.engine.executor, "forward", fail_third)
    quick = SamplingParams(temperature=0.0, max_tokens=2, ignore_eos=True)
    with pytest.raises(
        RequestFailed, match="1 of 2 requests failed: ArithmeticError: broken"
    ) as caught:
        llm.generate(["quick", "slow"], [quick, GREEDY])
    assert isinstance(caught.value.__cause__, ArithmeticError)
    first, second = caught.value.outputs
    assert isinstance(first, RequestOutput)
    assert isinstance(second, RequestOutput)
    assert first.outputs[0].reason is FinishReason.LENGTH
    assert second.outputs[0].reason is FinishReason.ERROR
    assert len(second.outputs[0].tokens) == 2
    assert len(_tokens(llm.generate("slow", GREEDY))[0]) == 6
    check_empty(llm)


def test_a_refused_prompt_stops_the_call_before_anything_runs(
    llm: LLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*operands: Any) -> NoReturn:
        raise AssertionError("ran")

    monkeypatch.setattr(llm.engine.executor, "forward", refuse)
    with pytest.raises(RequestRefused, match="leaves no room for output"):
        llm.generate(["fine", "x" * 96], GREEDY)
    with pytest.raises(RequestRefused, match="9 sequences exceed the 8 that can run at once"):
        llm.generate(["fine", "many"], [GREEDY, SamplingParams(n=9)])
    check_empty(llm)


def test_unknown_options_are_refused() -> None:
    with pytest.raises(ConfigError, match="unknown option 'num_block'; expected some of alloc"):
        LLM("tiny", num_block=4)


def test_options_add_to_a_configuration() -> None:
    llm = LLM(tiny_llm(seed=9).config, num_gpu_blocks_override=300, dtype="float32")
    assert (llm.config.seed, llm.config.model) == (9, "tiny")
    assert llm.engine.scheduler.allocator.num_blocks == 300
    assert len(_tokens(llm.generate("hello", GREEDY))[0]) == 6


def test_a_bar_is_shown_where_it_is_wanted(llm: LLM, capsys: pytest.CaptureFixture[str]) -> None:
    llm.generate("hello", GREEDY)
    assert capsys.readouterr().err == ""
    llm.generate("hello", GREEDY, show_progress=True)
    assert "1/1" in capsys.readouterr().err
