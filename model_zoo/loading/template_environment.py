"""What chat templates expect of Jinja: transformers' settings, filters and functions."""

from __future__ import annotations

import json
from datetime import datetime
from typing import NoReturn, cast

from jinja2 import TemplateError
from jinja2.ext import Extension
from jinja2.ext import loopcontrols as loop_controls
from jinja2.nodes import Node
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment


class GenerationTag(Extension):
    """`{% generation %}`, which marks what the model says in training: here its body alone."""

    tags = {"generation"}  # noqa: RUF012  (Jinja declares it so)

    def parse(self, parser: Parser) -> list[Node]:
        """Return the statements up to `{% endgeneration %}`."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def environment() -> ImmutableSandboxedEnvironment:
    """Return a sandbox in which templates can change nothing and reach no attribute of Python."""
    sandbox = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[GenerationTag, loop_controls]
    )
    filters = cast("dict[str, object]", sandbox.filters)  # pyright: ignore[reportUnknownMemberType]
    known = cast("dict[str, object]", sandbox.globals)  # pyright: ignore[reportUnknownMemberType]
    filters["tojson"] = _to_json
    known |= {"raise_exception": _raise, "strftime_now": _now}
    return sandbox


def _to_json(
    value: object,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    # Jinja's own filter escapes what HTML would misread; prompts are no HTML.
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


def _raise(message: str) -> NoReturn:
    raise TemplateError(message)


def _now(text_format: str) -> str:
    return datetime.now().strftime(text_format)
