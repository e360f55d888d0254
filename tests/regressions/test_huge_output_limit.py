"""vllm#1543: a limit of 2**31 new tokens killed the engine."""

from __future__ import annotations

import pytest

from paged.allocator.registry import ALLOCATORS
from paged.sampling_params import SamplingParams
from paged.scheduler.request import FinishReason
from tests.helpers.asked import COMPLETIONS, post
from tests.helpers.live_server import LiveServer
from tests.helpers.tiny_llm import MAX_MODEL_LEN, tiny_llm


@pytest.mark.parametrize("name", ALLOCATORS)
@pytest.mark.parametrize("limit", [2**31, 10**30])
def test_a_limit_is_clipped_to_what_the_model_allows(make_engine, name: str, limit: int) -> None:
    engine = make_engine(
        num_blocks=16,
        max_model_len=24,
        allocator=name,
        batching=ALLOCATORS[name].batching,
    )
    engine.add("huge", [9] * 5, num_new=limit)
    engine.run()
    assert len(engine.tokens("huge")) == 24


@pytest.mark.parametrize("limit", [2**31, 2**63, 10**30])
def test_with_a_model_it_is_what_the_context_has_room_for(limit: int) -> None:
    params = SamplingParams(max_tokens=limit, ignore_eos=True)
    (answer,) = tiny_llm().generate("the quick brown fox", params)
    assert len(answer.prompt_tokens) + len(answer.outputs[0].tokens) == MAX_MODEL_LEN
    assert answer.outputs[0].reason is FinishReason.LENGTH


@pytest.mark.parametrize("limit", [2**31, 2**63, 10**30])
def test_so_it_is_over_http(server: LiveServer, limit: int) -> None:
    body = {"prompt": "a", "max_tokens": limit, "ignore_eos": True}
    usage = post(server, COMPLETIONS, body).json()["usage"]
    assert usage["total_tokens"] == MAX_MODEL_LEN
