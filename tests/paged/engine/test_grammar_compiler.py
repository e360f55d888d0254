"""Grammars compiled: what they accept byte by byte, what is refused, and what is kept."""

from __future__ import annotations

import json
import re
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llguidance import LLMatcher

from model_zoo.loading.byte_tokenizer import ByteTokenizer
from model_zoo.tiny import EOS_ID
from paged.engine import grammar_compiler
from paged.engine.grammar_compiler import GrammarCompiler
from paged.errors import ConfigError
from paged.grammar import Grammar

COMPILER = GrammarCompiler(ByteTokenizer(), 260)
POINT = {
    "type": "object",
    "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
    "required": ["x", "y"],
    "additionalProperties": False,
}


def accepts(grammar: Grammar, text: str) -> bool:
    """Say whether a grammar accepts all of a text, as a whole."""
    matcher = COMPILER.matcher(grammar)
    return matcher.try_consume_tokens(list(text.encode())) == len(text.encode()) and (
        matcher.is_accepting()
    )


@pytest.mark.parametrize(
    ("grammar", "good", "bad"),
    [
        (Grammar.regex("a+b?"), ["a", "aab"], ["", "b", "ba", "aabb"]),
        (Grammar.regex("é|漢字|👩‍👧"), ["é", "漢字", "👩‍👧"], ["漢", "👩"]),
        (Grammar.regex("()|a"), ["", "a"], ["b"]),
        (Grammar.choice(["yes", "ye", "no"]), ["yes", "ye", "no"], ["y", "yesno", "yes "]),
        (Grammar.json_schema(POINT), ['{"x":1,"y":-2}', '{\n "x": 1,\n "y": 0}'], ['{"x":1}']),
        (Grammar.json_schema(POINT), [], ['{"x":"1","y":2}', '{"x":1,"y":2,"z":3}', "[]"]),
        (Grammar.json_object(), ["{}", '{"a":[1,{"b":null}]}'], ["[]", "1", '"a"', "{}{}"]),
        (Grammar.lark('start: "(" start ")" | "x"'), ["x", "((x))"], ["(x", "x)"]),
    ],
)
def test_what_a_grammar_accepts(grammar: Grammar, good: list[str], bad: list[str]) -> None:
    assert [text for text in good if not accepts(grammar, text)] == []
    assert [text for text in bad if accepts(grammar, text)] == []


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=1, max_size=5))
def test_a_choice_is_taken_as_it_is_written(choices: list[str]) -> None:
    grammar = Grammar.choice(choices)
    assert all(accepts(grammar, choice) for choice in choices)
    longer = "".join(choices) + "!"
    assert accepts(grammar, longer) == (longer in choices)


def test_white_space_within_json_is_bounded() -> None:
    assert accepts(Grammar.json_object(), "{" + " " * 16 + "}")
    assert not accepts(Grammar.json_object(), "{" + " " * 17 + "}")


@pytest.mark.parametrize(
    ("grammar", "message"),
    [
        (Grammar.regex("a("), r"^grammar\.regex: .*unclosed group.*got 'a\('"),
        (Grammar.regex("(?=a)b"), r"^grammar\.regex: .*look-around"),
        (Grammar.json_schema("{"), r"^grammar\.json_schema: "),
        (Grammar.json_schema('"text"'), r"^grammar\.json_schema: "),
        (Grammar.json_schema("[" * 60_000), r"^grammar\.json_schema: .{1,500}$"),
        (Grammar.json_schema({"type": "frog"}), r"^grammar\.json_schema: .*frog"),
        (Grammar.json_schema({"enum": []}), r"^grammar\.json_schema: .*[Uu]nsatisfiable"),
        (Grammar.json_schema({"not": {"type": "string"}}), r"^grammar\.json_schema: .*not"),
        (Grammar.json_schema({"$ref": "#/nowhere"}), r"^grammar\.json_schema: .*nowhere"),
        (Grammar.json_schema({"$ref": "file:///etc/passwd"}), r"does not fetch resources"),
        (Grammar.json_schema({"$ref": "http://localhost/x"}), r"does not fetch resources"),
        (Grammar.lark("start: missing"), r"^grammar\.lark: .*missing"),
        (Grammar.lark("rule: 'a'"), r"^grammar\.lark: "),
        (Grammar.regex(r"[^\s\S]"), r"^grammar\.regex: no text matches it; got"),
        (Grammar.json_schema({"$ref": "#"}), r"^grammar\.json_schema: no text matches it; got"),
    ],
)
def test_a_bad_grammar_is_refused_with_what_is_wrong(grammar: Grammar, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        COMPILER.matcher(grammar)


def test_a_grammar_that_takes_too_much_work_is_refused() -> None:
    both = "start: A\nA: /.*a.{18}/ & /.*b.{18}/ & ~/.*c.{18}/"
    with pytest.raises(ConfigError, match=r"^grammar\.lark: fuel exhausted"):
        COMPILER.matcher(Grammar.lark(both))


def test_rules_of_rules_end_no_process() -> None:
    names = ["".join(letters) for letters in product("bcdefghijklmnopqrst", repeat=3)]
    rules = [f"{name}:{after}" for name, after in pairwise(names)]
    text = "\n".join((f"start:{names[0]}", *rules, f'{names[-1]}:"a"'))
    for grammar in (Grammar.lark(text), Grammar.lark(text.upper().replace("START", "start"))):
        matcher = COMPILER.matcher(grammar)
        assert matcher.consume_token(ord("A" if grammar.text.endswith('"A"') else "a"))
        assert matcher.is_accepting()


class _Endless(ByteTokenizer):
    def __init__(self) -> None:
        super().__init__()
        self.eos_ids = frozenset()


def test_a_tokenizer_without_an_end_follows_no_grammar() -> None:
    with pytest.raises(ConfigError, match="expected a tokenizer with an end of text"):
        GrammarCompiler(_Endless(), 258).matcher(Grammar.regex("a"))


def test_each_matcher_starts_anew() -> None:
    first, second = (COMPILER.matcher(Grammar.regex("ab")) for _ in range(2))
    assert first.consume_token(ord("a"))
    assert not second.consume_token(ord("b"))


def test_what_was_compiled_lately_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[Any] = []

    def compiling(*arguments: Any, **options: Any) -> LLMatcher:
        compiled.append(arguments)
        return LLMatcher(*arguments, **options)

    monkeypatch.setattr(grammar_compiler, "_MAX_CACHED", 2)
    monkeypatch.setattr(grammar_compiler, "LLMatcher", _Counting(compiling))
    compiler = GrammarCompiler(ByteTokenizer(), 258)
    for pattern in ("a", "b", "a", "c", "a", "b"):
        compiler.matcher(Grammar.regex(pattern))
    patterns = [re.findall(r"/(.)/", json.dumps(arguments[1]))[0] for arguments in compiled]
    assert patterns == ["a", "b", "c", "b"]


class _Counting:
    grammar_from_regex = staticmethod(LLMatcher.grammar_from_regex)

    def __init__(self, make: Any) -> None:
        self._make = make

    def __call__(self, *arguments: Any, **options: Any) -> LLMatcher:
        return self._make(*arguments, **options)


def test_special_tokens_and_padding_are_never_text() -> None:
    matcher = COMPILER.matcher(Grammar.regex("(.|\n)*"))
    allowed = [
        token
        for token in range(260)
        if COMPILER.matcher(Grammar.regex("(.|\n)*")).validate_tokens([token])
    ]
    assert set(allowed) <= {*range(256), EOS_ID}
    assert matcher.is_accepting()
