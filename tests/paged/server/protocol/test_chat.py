"""What is special of chats."""

from __future__ import annotations

from typing import Any

import pytest

from paged.server.protocol.chat import ChatRequest
from paged.server.protocol.error import ApiError


def _body(**fields: Any) -> ChatRequest:
    return ChatRequest(messages=[], **fields)


def test_the_newer_limit_counts_and_none_is_no_limit() -> None:
    assert _body().params().max_tokens is None
    assert _body(max_tokens=5).params().max_tokens == 5
    assert _body(max_tokens=5, max_completion_tokens=3).params().max_tokens == 3
    assert _body(min_tokens=50).params().min_tokens == 50


def test_alternatives_are_counted_where_log_probabilities_are_wanted() -> None:
    assert _body().params().logprobs is None
    assert _body(logprobs=False).params().logprobs is None
    assert _body(logprobs=True).params().logprobs == 0
    assert _body(logprobs=True, top_logprobs=3).params().logprobs == 3


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"top_logprobs": 1}, "top_logprobs"),
        ({"top_logprobs": 1, "logprobs": False}, "top_logprobs"),
        ({"tools": [{}]}, "tools"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tool_choice": {"type": "function"}}, "tool_choice"),
        ({"modalities": ["audio"]}, "modalities"),
        ({"chat_template_kwargs": {"tools": []}}, "chat_template_kwargs"),
        ({"echo": True}, "echo"),
    ],
)
def test_what_is_not_served_is_refused(body: dict[str, Any], param: str) -> None:
    with pytest.raises(ApiError) as caught:
        _body(**body).check_fields()
    assert caught.value.param == param


def test_a_template_may_have_options_of_its_own() -> None:
    _body(chat_template_kwargs={"enable_thinking": False}).check_fields()
