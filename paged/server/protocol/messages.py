"""The messages of a chat, checked and made plain enough for any template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, cast

from pydantic import WithJsonSchema

from paged.server.protocol.error import ApiError

_ROLES = ("system", "developer", "user", "assistant", "tool")
MAX_MESSAGES = 4096

MessagesField = Annotated[
    Any,
    WithJsonSchema(
        {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["role", "content"],
                "properties": {
                    "role": {"type": "string", "enum": list(_ROLES)},
                    "content": {
                        "anyOf": [
                            {"type": "string"},
                            {
                                "type": "array",
                                "items": {
                                    "type": "object",
                                    "required": ["type", "text"],
                                    "properties": {
                                        "type": {"const": "text"},
                                        "text": {"type": "string"},
                                    },
                                },
                            },
                        ]
                    },
                },
            },
        }
    ),
]
"""Checked by `messages_of`."""


def messages_of(value: object) -> list[dict[str, object]]:
    """Return messages whose content is a text each. Raises: ApiError."""
    if not isinstance(value, list) or not value:
        raise _wrong("expected a list of messages, and at least one")
    items = cast("list[Any]", value)
    if len(items) > MAX_MESSAGES:
        raise _wrong(f"expected at most {MAX_MESSAGES} messages, got {len(items)}")
    messages = [_message(item, place) for place, item in enumerate(items)]
    if [message["role"] for message in messages[-2:]] == ["assistant", "assistant"]:
        raise _wrong("the last two are both of the assistant; expected one at most")
    return messages


def _message(item: Any, place: int) -> dict[str, object]:
    if not isinstance(item, Mapping):
        raise _wrong(f"expected an object at place {place}")
    message = dict(cast("Mapping[str, object]", item))
    role = message.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise _wrong(f"expected a role of {', '.join(_ROLES)} at place {place}")
    if message.get("tool_calls") or message.get("function_call"):
        raise _wrong(f"calls of tools, at place {place}, are not supported")
    message["content"] = _text(message.get("content"), place)
    return message


def _text(content: object, place: int) -> str:
    """Return the text of a message, its parts joined by line breaks."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise _wrong(f"expected content that is a text or a list of parts, at place {place}")
    texts: list[str] = []
    for part in cast("list[Any]", content):
        fields: Mapping[str, object] = {}
        if isinstance(part, Mapping):
            fields = cast("Mapping[str, object]", part)
        text = fields.get("text")
        if fields.get("type") != "text" or not isinstance(text, str):
            raise _wrong(f"expected parts of the type text alone, at place {place}")
        texts.append(text)
    return "\n".join(texts)


def _wrong(what: str) -> ApiError:
    return ApiError(f"messages: {what}", param="messages")
