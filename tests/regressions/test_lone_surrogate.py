"""Rapid-MLX#730, tiktoken#82, #541: half a character in a body gave 500, or a broken stream."""

from __future__ import annotations

import pytest

from tests.helpers.asked import COMPLETIONS, post, refused
from tests.helpers.live_server import LiveServer


@pytest.mark.parametrize("text", [b"\\ud800", b"a\\udfff", b"\\ud800\\ud800"])
@pytest.mark.parametrize("field", ["prompt", "stop", "user", "request_id"])
def test_it_is_refused(server: LiveServer, text: bytes, field: str) -> None:
    refused(server, COMPLETIONS, b'{"prompt": "a", "%s": "%s"}' % (field.encode(), text))


@pytest.mark.parametrize("text", ["a\0b", "\ufeffa", "\ufffd", "e\u0301", "\U0010ffff"])
def test_odd_characters_come_back_as_they_are(server: LiveServer, text: str) -> None:
    body = {"prompt": text, "echo": True, "max_tokens": 0}
    assert post(server, COMPLETIONS, body).json()["choices"][0]["text"] == text
    tokens = post(server, "/tokenize", {"prompt": text, "add_special_tokens": False}).json()
    joined = post(server, "/detokenize", {"tokens": tokens["tokens"]}).json()
    assert joined == {"prompt": text}


def test_a_megabyte_of_one_character_is_too_long_for_the_context(server: LiveServer) -> None:
    assert "max_model_len" in refused(server, COMPLETIONS, {"prompt": "x" * 10**6})["message"]
