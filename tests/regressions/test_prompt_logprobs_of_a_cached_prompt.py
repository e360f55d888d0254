"""vllm#8268, #13105: log-probabilities of a prompt were lacking where a cache held its blocks."""

from __future__ import annotations

from paged.sampling_params import SamplingParams
from tests.helpers.tiny_llm import check_empty, tiny_llm

PROMPT = "the quick brown fox"


def test_they_are_those_of_a_cold_run() -> None:
    params = SamplingParams(temperature=0, max_tokens=3, prompt_logprobs=1, ignore_eos=True)
    (cold,) = tiny_llm(enable_prefix_caching=False).generate(PROMPT, params)
    llm = tiny_llm(enable_prefix_caching=True)
    plain = SamplingParams(temperature=0, max_tokens=3, ignore_eos=True)
    llm.generate(PROMPT, plain)
    # The cache does hold the prompt.
    assert llm.generate(PROMPT, plain)[0].num_cached_tokens >= 16
    (warm,) = llm.generate(PROMPT, params)
    assert warm.prompt_logprobs == cold.prompt_logprobs
    assert warm.outputs[0].tokens == cold.outputs[0].tokens
    assert cold.prompt_logprobs is not None
    first, *others = cold.prompt_logprobs
    assert first is None
    assert len(others) == len(cold.prompt_tokens) - 1
    assert None not in others
    check_empty(llm)
