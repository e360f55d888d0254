"""The prompts of a completion: a text, several, token ids, or several lists of them."""

from __future__ import annotations

from typing import Annotated, Any, cast

from pydantic import WithJsonSchema

from paged.server.protocol.error import ApiError

_IDS = {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1}
_TEXT = {"type": "string", "minLength": 1}

PromptField = Annotated[
    Any,
    WithJsonSchema(
        {
            "anyOf": [
                _TEXT,
                _IDS,
                {"type": "array", "items": _TEXT, "minItems": 1},
                {"type": "array", "items": _IDS, "minItems": 1},
            ]
        }
    ),
]
"""Checked by `prompts_of`: a union would try a long list in each of its forms."""

Prompt = str | list[int]


def prompts_of(value: object) -> list[Prompt]:
    """Return the prompts that a field holds, at least one, none of them empty.

    Raises: ApiError.
    """
    if isinstance(value, str):
        return [_checked(value)]
    if not isinstance(value, list) or not value:
        raise _wrong(cast("object", value))
    items = cast("list[Any]", value)
    if _is_ids(items):
        return [cast("list[int]", items)]
    return [_checked(item) for item in items]


def _checked(value: object) -> Prompt:
    if isinstance(value, str) and value:
        return value
    if isinstance(value, list) and value and _is_ids(cast("list[Any]", value)):
        return cast("list[int]", value)
    raise _wrong(cast("object", value))


def _is_ids(items: list[Any]) -> bool:
    return all(type(item) is int for item in items)


def _wrong(value: object) -> ApiError:
    what = "an empty one" if value in ("", []) else type(value).__name__
    return ApiError(
        "prompt: expected a text, a list of texts, a list of token ids or a list of such lists,"
        f" none of them empty; got {what}",
        param="prompt",
    )
