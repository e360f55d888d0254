"""llama.cpp#4790: a limit of one new token gave four; sgl-jax#56: it never ended."""

from __future__ import annotations

import pytest

from paged.sampling_params import SamplingParams
from paged.scheduler.request import FinishReason
from tests.helpers.asked import COMPLETIONS, completed, post
from tests.helpers.live_server import LiveServer
from tests.helpers.scripted import scripted
from tests.helpers.tiny_llm import tiny_llm


@pytest.mark.parametrize("budget", [None, 3])
@pytest.mark.parametrize("num_sequences", [1, 3])
def test_a_limit_of_one_gives_exactly_one(make_engine, budget, num_sequences: int) -> None:
    engine = make_engine(num_blocks=16, max_num_batched_tokens=budget)
    engine.add("one", [4] * 8, num_new=1, num_sequences=num_sequences)
    finished = engine.run()
    assert len(finished) == num_sequences
    for sequence in finished.values():
        assert sequence.num_new_tokens == 1
        assert sequence.reason is FinishReason.LENGTH


def test_so_it_is_with_a_model() -> None:
    params = SamplingParams(max_tokens=1, ignore_eos=True)
    (output,) = tiny_llm().generate("the quick brown fox", params)[0].outputs
    assert (len(output.tokens), output.reason) == (1, FinishReason.LENGTH)


def test_so_it_is_over_http(server: LiveServer) -> None:
    body = {"prompt": "a", "max_tokens": 1, "ignore_eos": True, "return_token_ids": True}
    answer = post(server, COMPLETIONS, body).json()
    assert len(answer["choices"][0]["token_ids"]) == 1
    assert answer["choices"][0]["finish_reason"] == "length"
    assert answer["usage"]["completion_tokens"] == 1


def test_the_end_at_the_last_allowed_token_is_a_stop(server: LiveServer) -> None:
    with scripted(server, "abc"):
        choice = completed(server, max_tokens=4)
    # A count of tokens alone would call it a length.
    assert (choice["text"], choice["finish_reason"]) == ("abc", "stop")
