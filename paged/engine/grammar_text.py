"""Grammars in the terms of llguidance, and what of them it could not handle in bounded time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from math import lcm
from typing import cast

from llguidance import LLMatcher

from paged.errors import ConfigError
from paged.field_checks import is_a
from paged.grammar import Grammar, GrammarKind

# A model that is free to write white space may write nothing else, for ever.
_WHITE_SPACE = r"[ \n]{0,16}"
# llguidance counts to it in an automaton, outside of its limits: 10^6 take it half a minute.
_MOST_MULTIPLE = 10_000
_MOST_DIGITS = 15
# They take JSON and other things that are checked where they are a grammar of their own.
_NESTED = re.compile("%(json|regex|lark|llguidance)")


def llguidance_text(grammar: Grammar) -> str:
    """Return a grammar as llguidance reads it. Raises: ConfigError for what is refused here."""
    if grammar.kind is GrammarKind.REGEX:
        return LLMatcher.grammar_from_regex(grammar.text)
    if grammar.kind is GrammarKind.LARK:
        if nested := _NESTED.search(grammar.text):
            raise refused(grammar, f"{nested[0]} is not allowed; use a grammar of that kind")
        return LLMatcher.grammar_from_lark(grammar.text)
    try:
        value = json.loads(grammar.text)
    except (ValueError, RecursionError) as error:
        raise refused(grammar, f"expected JSON: {error}") from error
    if grammar.kind is GrammarKind.CHOICE:
        choices = cast("list[str]", value)
        return LLMatcher.grammar_from_lark("start: " + " | ".join(map(json.dumps, choices)))
    _check_multiples(grammar, value)
    try:
        return LLMatcher.grammar_from_json_schema(
            grammar.text, defaults={"whitespace_pattern": _WHITE_SPACE}
        )
    except ValueError as error:
        raise refused(grammar, str(error)) from error


def refused(grammar: Grammar, reason: str) -> ConfigError:
    """Return the error that says what is wrong with a grammar."""
    reason = " ".join(reason.split())
    return ConfigError(f"grammar.{grammar.kind.value}: {reason:.300}; got {grammar.text!r:.80}")


def failure_reason(matcher: LLMatcher) -> str:
    """Return why a matcher has failed, without what llguidance says of its own state."""
    reason = matcher.get_error().partition("<state>")[0].strip()
    return "no text matches it" if reason == "NoExtensionBias" else reason


def _check_multiples(grammar: Grammar, schema: object) -> None:
    """Refuse a schema where numbers might have to be multiples of a large one."""
    multiples = [*_multiples(schema)]
    are_small = all(each.is_finite() and abs(each.adjusted()) < _MOST_DIGITS for each in multiples)
    if not are_small or _common(multiples) > _MOST_MULTIPLE:
        raise refused(
            grammar, f"multipleOf: expected numbers with a common multiple up to {_MOST_MULTIPLE}"
        )


def _common(multiples: list[Decimal]) -> int:
    """Return the least common multiple of numbers, in units of their last decimal place."""
    exponents = [int(each.as_tuple().exponent) for each in multiples]
    unit = Decimal(10) ** min([0, *exponents])
    return lcm(*(abs(int(each / unit)) for each in multiples))


def _multiples(schema: object) -> Iterator[Decimal]:
    pending = [schema]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            members = cast("dict[str, object]", value)
            multiple = members.get("multipleOf")
            if is_a(multiple, int | float) and multiple:
                yield Decimal(str(multiple)).normalize()
            pending.extend(members.values())
        elif isinstance(value, list):
            pending.extend(cast("list[object]", value))
