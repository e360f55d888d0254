"""Messages of a chat."""

from __future__ import annotations

from typing import Any

import pytest

from paged.server.protocol.error import ApiError
from paged.server.protocol.messages import MAX_MESSAGES, messages_of


def _user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def test_texts_stay_and_parts_are_joined_by_lines() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert messages_of([_user("x"), {**_user(parts), "name": "me"}]) == [
        _user("x"),
        {**_user("a\nb"), "name": "me"},
    ]


def test_what_is_given_stays_as_it_was() -> None:
    message = _user([{"type": "text", "text": "a"}])
    messages_of([message])
    assert message["content"] == [{"type": "text", "text": "a"}]


def test_an_assistant_may_speak_last_but_not_twice() -> None:
    said = {"role": "assistant", "content": "a"}
    assert len(messages_of([said, _user("x"), said])) == 3
    with pytest.raises(ApiError, match="the last two are both"):
        messages_of([_user("x"), said, said])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "expected a list"),
        ("hi", "expected a list"),
        ([], "at least one"),
        ([1], "an object at place 0"),
        ([_user("a"), {}], "a role of system, .* at place 1"),
        ([{"role": ["user"], "content": "a"}], "a role"),
        ([_user(None)], "content that is a text"),
        ([_user({"type": "text"})], "content that is a text"),
        ([_user(["a"])], "parts of the type text"),
        ([_user([{"type": "text", "text": 1}])], "parts of the type text"),
        ([_user([{"type": "image_url", "text": "a"}])], "parts of the type text"),
        ([{"role": "assistant", "content": "a", "tool_calls": [{}]}], "calls of tools"),
        ([_user("a")] * (MAX_MESSAGES + 1), "at most 4096 messages"),
    ],
)
def test_others_are_refused_by_place(value: Any, message: str) -> None:
    with pytest.raises(ApiError, match=message) as caught:
        messages_of(value)
    assert caught.value.param == "messages"
