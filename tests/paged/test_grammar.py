"""Grammars as values: equal ones are one, and what no model could follow is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from paged.errors import ConfigError
from paged.grammar import MAX_CHOICES, MAX_GRAMMAR_CHARACTERS, Grammar, GrammarKind

_LOOP: list[Any] = []
_LOOP.append(_LOOP)


def test_equal_grammars_are_equal_and_have_one_hash() -> None:
    pair = [Grammar.json_schema({"type": "string"}) for _ in range(2)]
    assert pair[0] == pair[1]
    assert len({*pair, Grammar.regex('{"type": "string"}')}) == 2


def test_a_schema_is_given_as_a_value_or_as_its_text() -> None:
    schema = {"type": "object", "properties": {"名": {"type": "null"}}}
    text = json.dumps(schema, ensure_ascii=False)
    assert Grammar.json_schema(schema) == Grammar.json_schema(text)
    assert json.loads(Grammar.json_object().text) == {"type": "object"}


def test_choices_keep_their_order_and_are_there_once() -> None:
    grammar = Grammar.choice(["b", "a", "b"])
    assert (grammar.kind, json.loads(grammar.text)) == (GrammarKind.CHOICE, ["b", "a"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Grammar.regex(""), r"grammar\.regex: expected a text that is not empty"),
        (lambda: Grammar.regex(7), r"grammar\.regex: expected a string, got 7"),  # type: ignore[arg-type]
        (lambda: Grammar.regex("\ud800"), r"grammar\.regex: .* lone surrogates"),
        (lambda: Grammar.choice(["a", "\ud800"]), r"grammar\.choice: .* lone surrogates"),
        (lambda: Grammar.json_schema({"const": "\ud800"}), r"json_schema: .* lone surrogates"),
        (lambda: Grammar.choice([]), r"grammar\.choice: expected a list of strings"),
        (lambda: Grammar.choice(["a", ""]), r"grammar\.choice: expected a list of strings"),
        (lambda: Grammar.choice("ab"), r"grammar\.choice: expected a list of strings"),
        (lambda: Grammar.choice(["a", 1]), r"grammar\.choice: .*none of them empty"),  # type: ignore[list-item]
        (lambda: Grammar.choice(map(str, range(3))), r"grammar\.choice"),  # type: ignore[arg-type]
        (lambda: Grammar.choice([str(i) for i in range(MAX_CHOICES + 1)]), "at most 1024 entries"),
        (lambda: Grammar.lark("x" * (MAX_GRAMMAR_CHARACTERS + 1)), "at most 65536 characters"),
        (lambda: Grammar.json_schema({"const": {1, 2}}), "expected what JSON can hold"),
        (lambda: Grammar.json_schema({"const": float("nan")}), "expected what JSON can hold"),
        (lambda: Grammar.json_schema({"enum": _LOOP}), "expected what JSON can hold"),
        (lambda: Grammar(kind="regex", text="a"), r"grammar\.kind: expected a GrammarKind"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_grammar_is_refused(make: Callable[[], Grammar], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()


def test_the_largest_that_is_allowed_is_allowed() -> None:
    assert len(Grammar.lark("x" * MAX_GRAMMAR_CHARACTERS).text) == MAX_GRAMMAR_CHARACTERS
    assert len(json.loads(Grammar.choice([str(i) for i in range(MAX_CHOICES)]).text)) == MAX_CHOICES
