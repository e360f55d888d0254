"""vllm-mlx#109, exo#1691, mlx-vlm#1771: U+FFFD for each byte of a character."""

from __future__ import annotations

import json

import pytest

from paged.sampling_params import SamplingParams
from tests.helpers.asked import CHATS, pieces, post
from tests.helpers.live_server import CHAT, LiveServer, events_of
from tests.helpers.scripted import scripted
from tests.helpers.tiny_llm import tiny_llm

FAMILY = "👩‍👧 und 家族"


@pytest.mark.parametrize("is_chat", [False, True])
def test_no_stream_breaks_a_character(server: LiveServer, is_chat: bool) -> None:
    with scripted(server, FAMILY):
        found = _chat_pieces(server) if is_chat else pieces(server, max_tokens=60)
    assert "".join(found) == FAMILY
    assert all("\ufffd" not in piece for piece in found)


def _chat_pieces(server: LiveServer) -> list[str]:
    answer = post(server, CHATS, {"messages": CHAT, "stream": True})
    choices = [json.loads(event)["choices"][0] for event in events_of(answer)[:-1]]
    return [choice["delta"].get("content", "") for choice in choices]


def test_a_character_that_the_limit_breaks_off_is_told_once(server: LiveServer) -> None:
    with scripted(server, FAMILY):
        assert "".join(pieces(server, max_tokens=6)) == "👩\ufffd"


def test_so_it_is_in_the_library() -> None:
    first_byte = "漢".encode()[0]
    params = SamplingParams(temperature=0, max_tokens=1, logit_bias={first_byte: 100.0})
    (output,) = tiny_llm().generate("the quick brown fox", params)[0].outputs
    assert (output.tokens, output.text) == ([first_byte], "\ufffd")
