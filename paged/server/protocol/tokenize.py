"""Requests to `/tokenize` and `/detokenize`."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from paged.server.protocol.field_notes import describe
from paged.server.protocol.messages import MessagesField


class TokenizeRequest(BaseModel):
    """A text, or a conversation, to be split into tokens."""

    model_config = ConfigDict(strict=True, extra="allow", json_schema_extra=describe)

    model: str | None = None
    prompt: str | None = None
    messages: MessagesField = None
    add_special_tokens: bool | None = None
    add_generation_prompt: bool | None = None
    continue_final_message: bool | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    return_token_strs: bool | None = None


class DetokenizeRequest(BaseModel):
    """Token ids to be joined to a text."""

    model_config = ConfigDict(strict=True, extra="allow", json_schema_extra=describe)

    model: str | None = None
    tokens: list[int]
