"""vllm#7283, #7632: the server died of `{"prompt": [""]}`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.asked import COMPLETIONS, refused
from tests.helpers.live_server import LiveServer


@pytest.mark.parametrize("prompt", ["", [""], [], [[]], ["a", ""], None, 5, {}, [None], [["a"]]])
def test_a_prompt_without_tokens_is_refused(server: LiveServer, prompt: Any) -> None:
    body = {"prompt": prompt, "add_special_tokens": False}
    assert refused(server, COMPLETIONS, body)["param"] == "prompt"
