"""vllm#10852, #17929: with a seed all n choices were the same."""

from __future__ import annotations

from typing import Any

from paged.sampling_params import SamplingParams
from tests.helpers.asked import COMPLETIONS, post, texts
from tests.helpers.live_server import LiveServer
from tests.helpers.tiny_llm import tiny_llm


def test_they_differ_and_repeat_in_the_library() -> None:
    params = SamplingParams(n=3, seed=42, temperature=1.0, max_tokens=12, ignore_eos=True)
    first, again = (_drawn(params) for _ in range(2))
    assert first == again
    assert len(set(first)) == 3


def _drawn(params: SamplingParams) -> list[tuple[int, ...]]:
    (answer,) = tiny_llm().generate("the quick brown fox", params)
    return [tuple(output.tokens) for output in answer.outputs]


def test_they_differ_and_repeat_over_http(server: LiveServer) -> None:
    body: dict[str, Any] = {"prompt": "a", "n": 3, "seed": 42, "temperature": 1, "max_tokens": 8}
    first, again = (texts(post(server, COMPLETIONS, body)) for _ in range(2))
    assert first == again
    assert len(set(first)) == 3
