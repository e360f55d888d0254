"""One sequence's grammar: failures that are its own, and those that others have brought about."""

from __future__ import annotations

import numpy as np
import pytest
from llguidance import LLMatcher, LLParserLimits

from model_zoo.loading.byte_tokenizer import ByteTokenizer
from paged.engine import grammar_compiler
from paged.engine.grammar_compiler import GrammarCompiler
from paged.engine.grammar_row import GrammarRow
from paged.grammar import Grammar
from paged.types import TokenArray

MANY_STATES = Grammar.regex("(.*)[a-m].{30}")
# It compiles, and fails at its first token.
TOO_MUCH = Grammar.regex("x(a{1000}){1000}")


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> GrammarCompiler:
    """Return one that allows a lexer few states: some hundred tokens of text come to them."""
    limits = LLParserLimits(initial_lexer_fuel=100_000, max_lexer_states=1000)
    monkeypatch.setattr(grammar_compiler, "_LIMITS", limits)
    return GrammarCompiler(ByteTokenizer(), 258)


def row_of(compiler: GrammarCompiler, grammar: Grammar) -> GrammarRow:
    return GrammarRow(compiler, grammar, num_prompt_tokens=1, banned=np.zeros(0, np.int64))


def ids(text: str) -> TokenArray:
    return np.array(list(text.encode()), np.int32)


def words(seed: int, length: int) -> str:
    letters = np.random.default_rng(seed).integers(ord("a"), ord("z"), length)
    return bytes(letters.tolist()).decode()


def write(matcher: LLMatcher, text: str) -> str:
    """Let a matcher see a text as a sequence does, step by step; return how it failed."""
    for token in ids(text).tolist():
        matcher.compute_bitmask()
        matcher.consume_token(token)
    return matcher.get_error()


def test_a_lexer_is_shared_and_fills_up(compiler: GrammarCompiler) -> None:
    """What the row does has a cause: else this test and its code can go."""
    errors = [write(compiler.matcher(MANY_STATES), words(seed, 50)) for seed in range(10)]
    assert errors[0] == ""
    assert "too many states" in errors[-1]


def test_what_others_have_used_up_fails_no_row(compiler: GrammarCompiler) -> None:
    for seed in range(30):
        row, text = row_of(compiler, MANY_STATES), words(seed, 50)
        for place, token in enumerate(ids(text).tolist()):
            row.bits(ids(text[:place]))
            row.take(token)
        assert row.refusal is None
    alone = row_of(GrammarCompiler(ByteTokenizer(), 258), MANY_STATES)
    assert row.bits(ids(text)) == alone.bits(ids(text))


def test_a_row_that_sees_all_at_once_recovers_too(compiler: GrammarCompiler) -> None:
    for seed in range(30):
        row = row_of(compiler, MANY_STATES)
        row.bits(ids(words(seed, 50)))
        assert row.refusal is None


class _Forgetting(GrammarCompiler):
    def __init__(self) -> None:
        super().__init__(ByteTokenizer(), 258)
        self.forgotten: list[Grammar] = []

    def forget(self, grammar: Grammar) -> None:
        super().forget(grammar)
        self.forgotten.append(grammar)


def test_a_failure_of_its_own_is_told_and_not_kept() -> None:
    compiler = _Forgetting()
    row = row_of(compiler, TOO_MUCH)
    row.bits(ids(""))
    assert row.refusal is None
    row.take(ord("x"))
    reason = "lexer error: too many expressions constructed"
    assert str(row.refusal) == f"grammar: {reason}; ask for a simpler one"
    assert compiler.forgotten == [TOO_MUCH, TOO_MUCH]


def test_an_output_that_was_taken_back_is_seen_anew(compiler: GrammarCompiler) -> None:
    row = row_of(compiler, Grammar.regex("ab|ac?"))
    row.take(ord("a"))
    row.take(ord("b"))
    assert row.is_complete
    assert _allowed(row, "a") == "bc"
    assert not row.is_complete


def _allowed(row: GrammarRow, output: str) -> str:
    bits = np.unpackbits(np.frombuffer(row.bits(ids(output)), np.uint8), bitorder="little")
    return bytes(bits[:256].nonzero()[0].tolist()).decode()
