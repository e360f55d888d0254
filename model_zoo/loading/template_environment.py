"""What chat templates expect of Jinja: transformers' settings, filters and functions."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Mapping
from datetime import datetime
from typing import Any, NoReturn, TypeVar, cast

from jinja2 import Template, TemplateError, pass_context
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension
from jinja2.ext import loopcontrols as loop_controls
from jinja2.nodes import Concat, Expr, Filter, For, Node
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

T = TypeVar("T")

MAX_STEPS = 1_000_000
"""Turns of loops, and calls, of one rendering: a second or two."""
STEPS_OF_A_CALL = 10
MAX_CHARACTERS = 2**26
MAX_BITS = 4096
_TOO_LONG = f"a text has more than {MAX_CHARACTERS} characters"

# No name that a template can write.
_STEPS = "%steps"
_COUNTED = "%counted"
_BOUNDED = "%bounded"


class _Steps:
    """Counts what a rendering does. Raises SecurityError past the bound."""

    def __init__(self) -> None:
        self._num_steps = 0

    def count(self, num_steps: int) -> None:
        self._num_steps += num_steps
        if self._num_steps > MAX_STEPS:
            raise SecurityError(f"it takes more than {MAX_STEPS} steps")


class _Environment(ImmutableSandboxedEnvironment):
    """A sandbox where neither calls nor numbers go on for ever."""

    intercepted_binops = frozenset({"+", "*", "**"})

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Call what a template calls."""
        _count(context, STEPS_OF_A_CALL)
        return super().call(context, obj, *args, **kwargs)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Compute what may grow; what would grow beyond all bounds is not computed."""
        if operator == "+":
            return _bounded(super().call_binop(context, operator, left, right))
        if isinstance(left, int) and isinstance(right, int):
            more = right if operator == "**" else 1 + right.bit_length()
            if left.bit_length() * more > MAX_BITS:
                raise SecurityError(f"a number takes more than {MAX_BITS} bits")
        elif _size(left) * _size(right) > MAX_CHARACTERS:
            raise SecurityError(_TOO_LONG)
        return super().call_binop(context, operator, left, right)


class GenerationTag(Extension):
    """`{% generation %}`, which marks what the model says in training: here its body alone."""

    tags = {"generation"}  # noqa: RUF012  (Jinja declares it so)

    def parse(self, parser: Parser) -> list[Node]:
        """Return the statements up to `{% endgeneration %}`."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def compiled(text: str) -> Template:
    """Compile a template that can change nothing and reach no attribute of Python.

    Raises: TemplateError, RecursionError, and what its constants raise when they are computed.
    """
    sandbox = _environment()
    tree = sandbox.parse(text)
    for loop in list(tree.find_all(For)):
        loop.iter = _through(_COUNTED, cast("Expr", loop.iter), sandbox)
    for joined in list(tree.find_all(Concat)):
        joined.nodes = [_through(_BOUNDED, Concat(joined.nodes, lineno=joined.lineno), sandbox)]
    return Template.from_code(sandbox, sandbox.compile(tree), sandbox.make_globals(None))


def rendered(template: Template, given: Mapping[str, object]) -> str:
    """Return the text of a template within bounds of steps and characters.

    Raises: SecurityError past them, and what the template raises.
    """
    pieces: list[str] = []
    num_characters = 0
    for piece in template.generate({**given, _STEPS: _Steps()}):
        pieces.append(piece)
        num_characters += len(piece)
        if num_characters > MAX_CHARACTERS:
            raise SecurityError(_TOO_LONG)
    return "".join(pieces)


def _through(name: str, value: Expr, sandbox: ImmutableSandboxedEnvironment) -> Expr:
    """Return an expression that passes a value through a filter."""
    passed = Filter(value, name, [], [], None, None, lineno=value.lineno)
    passed.set_environment(sandbox)
    return passed


def _size(value: object) -> int:
    """Return how long a text or a list is, or how often one is repeated."""
    if isinstance(value, int):
        return value
    return len(cast("str", value)) if isinstance(value, str | list | tuple) else 0


def _bounded(value: T) -> T:
    if not isinstance(value, int) and _size(value) > MAX_CHARACTERS:
        raise SecurityError(_TOO_LONG)
    return value


def _count(context: Context, num_steps: int) -> None:
    steps = context.get(_STEPS)
    if isinstance(steps, _Steps):
        steps.count(num_steps)


@pass_context
def _counted(context: Context, items: Iterable[T]) -> Generator[T]:
    for item in items:
        _count(context, 1)
        yield item


def _environment() -> ImmutableSandboxedEnvironment:
    sandbox = _Environment(
        trim_blocks=True, lstrip_blocks=True, extensions=[GenerationTag, loop_controls]
    )
    filters = cast("dict[str, object]", sandbox.filters)  # pyright: ignore[reportUnknownMemberType]
    known = cast("dict[str, object]", sandbox.globals)  # pyright: ignore[reportUnknownMemberType]
    filters |= {"tojson": _to_json, _COUNTED: _counted, _BOUNDED: _bounded}
    known |= {"raise_exception": _raise, "strftime_now": _now}
    del known["lipsum"]
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
