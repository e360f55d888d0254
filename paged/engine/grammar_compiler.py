"""Grammars turned into matchers, which know the tokens that may come next."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property
from threading import Lock

from llguidance import LLMatcher, LLParserLimits, LLTokenizer, TokenizerWrapper

from model_zoo.loading.tokenizer import Tokenizer
from paged.engine.deep_stack import on_deep_stack
from paged.engine.grammar_text import failure_reason, llguidance_text, refused
from paged.errors import ConfigError
from paged.grammar import Grammar

_MAX_CACHED = 128
# Starts the name of a special token: no UTF-8 has it, so no text can ask for one.
_SPECIAL_MARK = b"\xff"
# llguidance's own but for the first, which is a fifth of its: so a step takes 0.2 s and 30 MB at
# most. What needs more is refused.
_LIMITS = LLParserLimits(
    initial_lexer_fuel=200_000,
    step_lexer_fuel=200_000,
    step_max_items=50_000,
    max_items_in_row=2_000,
    max_lexer_states=250_000,
    max_grammar_size=500_000,
)


class GrammarCompiler:
    """Compiles grammars for one tokenizer, and keeps those that were used last.

    Nothing is built until it is first asked for. For several threads at once.
    """

    def __init__(self, tokenizer: Tokenizer, vocab_size: int) -> None:
        """Make one. vocab_size: the model's, which may exceed the tokenizer's."""
        self.vocab_size = vocab_size
        self._tokenizer = tokenizer
        self._compiled: OrderedDict[Grammar, LLMatcher] = OrderedDict()
        self._lock = Lock()

    def matcher(self, grammar: Grammar) -> LLMatcher:
        """Return a matcher that has seen nothing yet.

        Raises: ConfigError for a grammar that is malformed, asks for what is not supported, has
            no text, or is too large.
        """
        with self._lock:
            found = self._compiled.get(grammar)
        if found is None:
            # careful: outside of the lock, or an engine that admits would wait for it
            # careful: llguidance recurses from rule to rule, thousands deep in one text
            found = on_deep_stack(lambda: self._compile(grammar))
        with self._lock:
            self._compiled[grammar] = found
            self._compiled.move_to_end(grammar)
            if len(self._compiled) > _MAX_CACHED:
                self._compiled.popitem(last=False)
            return found.deep_copy()

    def _compile(self, grammar: Grammar) -> LLMatcher:
        matcher = LLMatcher(self._vocabulary, llguidance_text(grammar), log_level=0, limits=_LIMITS)
        if not matcher.is_error():
            # The most work of all steps: here no engine waits for it, and a failure is told early.
            matcher.compute_bitmask()
        if matcher.is_error():
            raise refused(grammar, failure_reason(matcher))
        return matcher

    def forget(self, grammar: Grammar) -> None:
        """Compile a grammar anew when it is asked for again."""
        with self._lock:
            self._compiled.pop(grammar, None)

    @cached_property
    def _vocabulary(self) -> LLTokenizer:
        ends = sorted(self._tokenizer.eos_ids)
        if not ends:
            raise ConfigError(
                "grammar: expected a tokenizer with an end of text, which ends what a grammar"
                " allows; this model's has none"
            )
        words = TokenizerWrapper(_Words(self._tokenizer, self.vocab_size))
        return LLTokenizer(words, n_vocab=self.vocab_size, eos_token=ends)


class _Words:
    """A tokenizer as llguidance reads one."""

    def __init__(self, tokenizer: Tokenizer, vocab_size: int) -> None:
        special = tokenizer.special_ids | tokenizer.eos_ids
        self.eos_token_id = min(tokenizer.eos_ids)
        self.bos_token_id = tokenizer.bos_id
        self.special_token_ids = sorted(token for token in special if token < vocab_size)
        self.tokens: Sequence[bytes] = [
            _SPECIAL_MARK + b"<%d>" % token if token in special else tokenizer.id_to_bytes(token)
            for token in range(vocab_size)
        ]
        self._encode = tokenizer.encode

    def __call__(self, text: str) -> list[int]:
        return self._encode(text, add_special_tokens=False)
