"""A model's chat template, rendered as transformers renders it.

The template is a program that came with the model: it runs in Jinja's sandbox, on plain data.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

from model_zoo.loading.tokenizer import Message
from paged.errors import ConfigError, ModelFileError, RequestRefused

if TYPE_CHECKING:
    from model_zoo.loading.sandboxed_template import SandboxedTemplate

_ERRORS = (
    *(TypeError, ValueError, LookupError, ArithmeticError, AttributeError),
    *(RecursionError, MemoryError),
)


class ChatTemplate:
    """A template and the special tokens that it may name, such as `bos_token`."""

    def __init__(self, text: str, *, source: str, special_tokens: Mapping[str, str]) -> None:
        self._text = text
        self._source = source
        self._special_tokens = special_tokens

    def render(
        self,
        messages: Sequence[Message],
        *,
        add_generation_prompt: bool,
        variables: Mapping[str, object],
    ) -> str:
        """Return the prompt for a chat.

        variables: what the template may know besides: `tools`, `documents`, options of its own.
        Raises RequestRefused where the template refuses the chat, or is malformed.
        """
        from jinja2 import TemplateError

        try:
            template = self._compiled
        # Nobody can chat with this model, and who asks is to know why.
        except ModelFileError as error:
            raise RequestRefused(str(error)) from error
        given: dict[str, object] = {
            **self._special_tokens,
            **{"tools": None, "documents": None},
            **cast("dict[str, object]", _plain(variables)),
            "messages": _plain(messages),
            "add_generation_prompt": add_generation_prompt,
        }
        try:
            text = template.render(given)
            # As JSON has them, messages may hold halves of characters; a prompt may not.
            text.encode()
        # A template's own arithmetic, look-ups and calls may fail on messages of another form.
        except (TemplateError, *_ERRORS) as error:
            why = str(error) or type(error).__name__
            raise RequestRefused(
                f"the chat template of {self._source} refuses these messages: {why:.300}"
            ) from error
        return text

    @cached_property
    def _compiled(self) -> SandboxedTemplate:
        return _compile(self._text, source=self._source)


def read_chat_template(option: str) -> str:
    """Return the text of a template that a user names: its file, or the text itself.

    Raises: ConfigError where it is neither; ModelFileError for one that is malformed.
    """
    is_file = os.path.isfile(option)
    if not is_file and not any(sign in option for sign in ("{{", "{%")):
        raise ConfigError(
            f"chat_template: expected a file of a Jinja template, or its text, got {option!r:.80}"
        )
    try:
        text = Path(option).read_text(encoding="utf-8") if is_file else option
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"chat_template: cannot read {option}: {error}") from error
    _compile(text, source=option if is_file else "the chat_template given")
    return text


def _compile(text: str, *, source: str) -> SandboxedTemplate:
    from jinja2 import TemplateError

    from model_zoo.loading.sandboxed_template import SandboxedTemplate

    try:
        return SandboxedTemplate(text)
    # Constants are read here; Python nests blocks less deep than Jinja.
    except (TemplateError, SyntaxError, *_ERRORS) as error:
        raise ModelFileError(
            f"{source}: the chat template is malformed: {error!s:.300}; name another with"
            " --chat-template"
        ) from error


def _plain(value: object) -> object:
    """Return a copy made of nothing but what JSON has, so that a template can call no method."""
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise RequestRefused(f"messages must be plain JSON data: {error!s:.200}") from error
