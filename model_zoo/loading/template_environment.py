"""What chat templates expect of Jinja, transformers' settings, filters and functions, on a budget.

A template comes with a model: it can change nothing, reach no attribute of Python, and pays for
all that it does before it is done.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, NoReturn, TypeGuard, cast

from jinja2 import TemplateError, pass_context
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension
from jinja2.ext import loopcontrols as loop_controls
from jinja2.filters import make_multi_attrgetter
from jinja2.nodes import Node
from jinja2.parser import Parser
from jinja2.runtime import BlockReference, Context, LoopContext, Macro, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Cycler, Joiner, Namespace

from model_zoo.loading import template_code, template_prices
from model_zoo.loading.template_budget import CALL, ITEM, OBJECT, STEP, Budget

MAX_DATE_CHARACTERS = 256
_JINJAS_ARGUMENTS = ("_loop_vars", "_block_vars")


class GenerationTag(Extension):
    """`{% generation %}`, which marks what the model says in training: here its body alone."""

    tags = {"generation"}  # noqa: RUF012  (Jinja declares it so)

    def parse(self, parser: Parser) -> list[Node]:
        """Return the statements up to `{% endgeneration %}`."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class TemplateEnvironment(ImmutableSandboxedEnvironment):
    """A sandbox in which calls, look-ups, operators, filters and tests pay. budget: Mutated."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self, budget: Budget) -> None:
        # What it could compute as it compiles, it would compute unpaid.
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            optimized=False,
            finalize=_finalize,
            extensions=[GenerationTag, loop_controls],
        )
        self._budget = budget
        self.concat = self._joined
        known = cast("dict[str, Any]", self.globals)  # pyright: ignore[reportUnknownMemberType]
        known |= {"namespace": _Namespace, "raise_exception": self._raise, "strftime_now": _now}
        del known["lipsum"]
        self._functions = frozenset(known.values())
        self._price_filters()
        self._price_tests()

    def _price_filters(self) -> None:
        filters = cast("dict[str, Any]", self.filters)  # pyright: ignore[reportUnknownMemberType]
        filters["tojson"] = _to_json
        prices = {
            **template_prices.FILTERS,
            "tojson": template_prices.json_price,
            "sort": self._sort_price,
        }
        budget = self._budget
        self.filters = {
            **{name: _priced(filters[name], price, budget) for name, price in prices.items()},
            template_code.PAY: budget.spend,
            template_code.WEIGH: _passing(budget.weigh),
            template_code.TEXT: _passing(budget.text),
            template_code.MADE: _passing(functools.partial(template_prices.made_price, budget)),
            template_code.NEEDLE: _passing(budget.needle),
            template_code.HAYSTACK: self._haystack,
        }

    def _price_tests(self) -> None:
        tests = self.tests
        self.tests = {
            name: _priced(
                test, template_prices.TESTS.get(name, template_prices.no_price), self._budget
            )
            for name, test in tests.items()
        }

    def _haystack(self, value: Any) -> Any:
        """Pay for a search with `in`; a mapping looks its key up."""
        if isinstance(value, Mapping):
            return cast("object", value)
        held = _held(value, self._budget)
        self._budget.weigh(held, per_character=2)
        return held

    def _sort_price(
        self,
        budget: Budget,
        value: Any,
        reverse: bool = False,
        case_sensitive: bool = False,
        attribute: str | int | None = None,
    ) -> None:
        del reverse, case_sensitive
        by = make_multi_attrgetter(self, attribute)
        template_prices.sort_price(budget, value if attribute is None else [*map(by, value)])

    def _raise(self, message: object) -> NoReturn:
        self._budget.text(message)
        raise TemplateError(str(message))

    def write(self, value: object) -> object:
        """Pay for the text of what a template writes, which is no text yet."""
        if not isinstance(value, str):
            self._budget.text(value)
        return value

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Look up `obj.attribute`."""
        self._budget.spend(STEP)
        return super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Look up `obj[argument]`."""
        self._budget.spend(STEP)
        self._budget.weigh(argument)
        return super().getitem(obj, argument)

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Call what a template calls: a macro, a function it is given, a method with a price."""
        self._budget.spend(CALL)
        if isinstance(obj, Macro | BlockReference | LoopContext | Undefined):
            return super().call(context, obj, *args, **kwargs)
        args = tuple(_held(each, self._budget) for each in args)
        # Jinja adds its own.
        named = {name: each for name, each in kwargs.items() if name not in _JINJAS_ARGUMENTS}
        for each in (*args, *named.values()):
            self._budget.weigh(each)
        if not self._is_function(obj):
            self._pay_method(obj, *args, **named)
        return super().call(context, obj, *args, **kwargs)

    def _is_function(self, obj: object) -> bool:
        owner = getattr(obj, "__self__", None)
        return isinstance(owner, LoopContext | Cycler) or (
            callable(obj) and (isinstance(obj, Joiner) or obj in self._functions)
        )

    def _pay_method(self, obj: Any, /, *args: Any, **named: Any) -> None:
        # The sandbox wraps `format`.
        owner = getattr(getattr(obj, "__wrapped__", obj), "__self__", None)
        name = getattr(obj, "__name__", f"a {type(obj).__name__}")
        price = template_prices.method_price(owner, name)
        if price is None:
            raise SecurityError(f"it calls {name}, which is no method that templates may call")
        for _ in range(template_prices.growth(owner)):
            price(self._budget, owner, *args, **named)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Compute what may grow."""
        template_prices.operator_price(self._budget, operator, left, right)
        return super().call_binop(context, operator, left, right)

    def _joined(self, pieces: Iterator[str]) -> str:
        """Join what a macro or a block wrote."""
        held = list(pieces)
        self._budget.spend(ITEM * len(held) + sum(map(len, held)))
        return "".join(held)


# careful: of the context, for what it gets without one, Jinja computes as it compiles.
@pass_context
def _finalize(context: Context, value: object) -> object:
    return cast("TemplateEnvironment", context.environment).write(value)


def _priced(function: Callable[..., Any], price: template_prices.Price, budget: Budget) -> Any:
    """Return a filter or a test that pays for its arguments and its work before it does it."""
    num_scopes = int(hasattr(function, "jinja_pass_arg"))

    @functools.wraps(function)
    def paying(*given: Any, **options: Any) -> Any:
        budget.spend(CALL)
        scope, (value, *args) = given[:num_scopes], given[num_scopes:]
        for each in (*args, *options.values()):
            budget.weigh(each)
        value = _held(value, budget)
        price(budget, value, *args, **options)
        result = function(*scope, value, *args, **options)
        return _counted(result, budget) if _is_iterator(result) else result

    return paying


def _is_iterator(value: Any) -> TypeGuard[Iterator[Any]]:
    return isinstance(value, Iterator)


def _counted(items: Iterator[Any], budget: Budget) -> Iterator[Any]:
    for item in items:
        budget.spend(OBJECT)
        yield item


def _held(value: Any, budget: Budget) -> Any:
    """Return what a price can be told of: of an iterator, a list, each item of which is paid."""
    return list(_counted(value, budget)) if _is_iterator(value) else value


def _passing(pay: Callable[[Any], object]) -> Callable[[Any], Any]:
    def passed(value: Any) -> Any:
        pay(value)
        return value

    return passed


class _Namespace(Namespace):
    """One whose text does not tell what it holds, which may be itself."""

    def __repr__(self) -> str:
        return "<Namespace>"


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


def _now(text_format: str) -> str:
    if len(text_format) > MAX_DATE_CHARACTERS:
        raise SecurityError(f"its format of a date has more than {MAX_DATE_CHARACTERS} characters")
    return datetime.now().strftime(text_format)
