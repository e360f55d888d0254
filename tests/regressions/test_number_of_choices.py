"""vllm#37952: memory ran out at `n: 1000000`."""

from __future__ import annotations

from typing import Any

import pytest

from paged.sampling_params import MAX_SEQUENCES
from tests.helpers.asked import CHATS, COMPLETIONS, refused
from tests.helpers.live_server import CHAT, LiveServer


@pytest.mark.parametrize(
    "n", [1000000, MAX_SEQUENCES + 1, 0, -1, 1.5, True, "2", 10**30, [1]], ids=repr
)
@pytest.mark.parametrize(
    ("path", "body"), [(COMPLETIONS, {"prompt": "a"}), (CHATS, {"messages": CHAT})]
)
def test_what_is_no_small_number_is_refused(
    server: LiveServer, path: str, body: dict[str, Any], n: Any
) -> None:
    assert refused(server, path, {**body, "n": n})["param"] == "n"


def test_prompts_times_n_are_bounded_too(server: LiveServer) -> None:
    error = refused(server, COMPLETIONS, {"prompt": ["a"] * 1000, "n": MAX_SEQUENCES})
    assert error["message"] == "n: expected prompts times n to be at most 1024, got 128000"
