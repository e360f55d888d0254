"""What an output must look like: a regular expression, a choice, JSON, or a Lark grammar."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from paged.field_checks import expected, is_a, items, text

MAX_GRAMMAR_CHARACTERS = 2**16
MAX_CHOICES = 1024


class GrammarKind(Enum):
    """How the text of a grammar is to be read."""

    REGEX = "regex"
    CHOICE = "choice"
    JSON_SCHEMA = "json_schema"
    LARK = "lark"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """A set of texts, one of which the output is to be, from its first character to its last.

    Make one by `regex`, `choice`, `json_schema`, `json_object` or `lark`. Whether a model can
    follow it is known when a request is made, which raises ConfigError.

    text: the expression, the schema or list of choices as JSON, or the rules, as `kind` says.
    Raises: ConfigError, its text starting with `grammar`.
    """

    kind: GrammarKind
    text: str

    def __post_init__(self) -> None:
        if not is_a(self.kind, GrammarKind):
            raise expected("grammar.kind", "a GrammarKind", self.kind)
        name = f"grammar.{self.kind.value}"
        if not text(name, self.text):
            raise expected(name, "a text that is not empty", self.text)
        if len(self.text) > MAX_GRAMMAR_CHARACTERS:
            raise expected(name, f"at most {MAX_GRAMMAR_CHARACTERS} characters", len(self.text))
        if any("\ud800" <= character <= "\udfff" for character in self.text):
            what = "text without lone surrogates, which no model writes"
            raise expected(name, what, self.text)

    @staticmethod
    def regex(pattern: str) -> Grammar:
        """Ask for a match of a whole expression, in the syntax of the Rust crate `regex`."""
        return Grammar(kind=GrammarKind.REGEX, text=pattern)

    @staticmethod
    def choice(choices: Collection[str]) -> Grammar:
        """Ask for one of several texts."""
        what = "a list of strings, none of them empty"
        given = items("grammar.choice", choices, what, MAX_CHOICES)
        if not given or not all(isinstance(each, str) and each for each in given):
            raise expected("grammar.choice", what, choices)
        return Grammar(kind=GrammarKind.CHOICE, text=_as_json(list(dict.fromkeys(given))))

    @staticmethod
    def json_schema(schema: str | Mapping[str, Any]) -> Grammar:
        """Ask for JSON that a schema validates. schema: one, or its JSON."""
        given = schema if isinstance(schema, str) else _as_json(schema)
        return Grammar(kind=GrammarKind.JSON_SCHEMA, text=given)

    @staticmethod
    def json_object() -> Grammar:
        """Ask for any JSON object."""
        return Grammar.json_schema({"type": "object"})

    @staticmethod
    def lark(rules: str) -> Grammar:
        """Ask for what the rule `start` derives, in llguidance's variant of Lark's syntax."""
        return Grammar(kind=GrammarKind.LARK, text=rules)


def _as_json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise expected("grammar.json_schema", "what JSON can hold", str(error)) from error
