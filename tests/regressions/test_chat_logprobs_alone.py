"""vllm#4795: a chat with `logprobs: true` and no `top_logprobs` was an error."""

from __future__ import annotations

from paged.sampling_params import SamplingParams
from tests.helpers.asked import CHATS, post, refused
from tests.helpers.live_server import CHAT, LiveServer
from tests.helpers.tiny_llm import tiny_llm


def test_it_reports_the_token_without_alternatives(server: LiveServer) -> None:
    body = {"messages": CHAT, "logprobs": True, "max_tokens": 2, "ignore_eos": True}
    content = post(server, CHATS, body).json()["choices"][0]["logprobs"]["content"]
    assert [entry["top_logprobs"] for entry in content] == [[], []]


def test_alternatives_alone_are_refused(server: LiveServer) -> None:
    assert refused(server, CHATS, {"messages": CHAT, "top_logprobs": 1})["param"] == "top_logprobs"


def test_so_it_is_in_the_library() -> None:
    params = SamplingParams(logprobs=0, max_tokens=3)
    (output,) = tiny_llm().generate("the quick brown fox", params)[0].outputs
    assert output.logprobs is not None
    assert [(each.token.token, each.top) for each in output.logprobs] == [
        (token, ()) for token in output.tokens
    ]
