"""sglang#4550, #2746: `finish_reason` was null to the end of a stream."""

from __future__ import annotations

import json

from tests.helpers.asked import CHATS, post
from tests.helpers.live_server import CHAT, LiveServer, events_of


def test_it_is_told_exactly_once_for_each_choice(server: LiveServer) -> None:
    body = {"messages": CHAT, "stream": True, "n": 2, "max_tokens": 3, "ignore_eos": True}
    *events, _ = events_of(post(server, CHATS, body))
    choices = [json.loads(event)["choices"][0] for event in events]
    told = {0: [], 1: []}
    for choice in choices:
        told[choice["index"]].append(choice["finish_reason"])
    for reasons in told.values():
        assert set(reasons[:-1]) == {None}
        assert reasons[-1] == "length"
