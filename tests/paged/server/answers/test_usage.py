"""Tokens that an answer has cost."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from paged.server.answers.usage import usage


def test_prompts_count_once_and_choices_each() -> None:
    streams: Any = [
        SimpleNamespace(request=SimpleNamespace(num_prompt_tokens=5), num_cached_tokens=4),
        SimpleNamespace(request=SimpleNamespace(num_prompt_tokens=7), num_cached_tokens=None),
    ]
    choices: Any = [SimpleNamespace(num_output_tokens=count) for count in (1, 2, 3, 4)]
    assert usage(streams, choices) == {
        "prompt_tokens": 12,
        "completion_tokens": 10,
        "total_tokens": 22,
        "prompt_tokens_details": {"cached_tokens": 4},
    }
