"""The grammar of one running sequence, and how far its output has come in it."""

from __future__ import annotations

from llguidance import LLMatcher

from paged.engine.grammar_compiler import GrammarCompiler
from paged.engine.grammar_text import failure_reason
from paged.errors import RequestRefused
from paged.grammar import Grammar
from paged.types import IndexArray, TokenArray


class GrammarRow:
    """A matcher that is brought to the output that a sequence has.

    Matchers of one grammar share a lexer, whose states count together against a bound: a grammar
    in use for long comes to it, by no fault of the sequence that meets it. Where a matcher fails,
    another that shares nothing sees the output again; the failure is the sequence's if that fails.

    num_prompt_tokens: of the sequence, before its output.
    banned: ends of text that it is to do without, where it can.
    Raises: ConfigError, as `GrammarCompiler.matcher`.
    """

    def __init__(
        self,
        compiler: GrammarCompiler,
        grammar: Grammar,
        *,
        num_prompt_tokens: int,
        banned: IndexArray,
    ) -> None:
        self.num_prompt_tokens = num_prompt_tokens
        self.banned = banned
        self._compiler = compiler
        self._grammar = grammar
        self._matcher: LLMatcher = compiler.matcher(grammar)
        self._seen: list[int] = []

    @property
    def is_complete(self) -> bool:
        """Say whether nothing can follow."""
        return self._matcher.is_stopped()

    @property
    def refusal(self) -> RequestRefused | None:
        """Why the sequence cannot go on; None where it can."""
        if not self._matcher.is_error():
            return None
        reason = failure_reason(self._matcher)
        return RequestRefused(f"grammar: {reason}; ask for a simpler one")

    def bits(self, output: TokenArray) -> bytes:
        """See an output, whatever was seen of another, and return what may follow, a bit a token.

        Where the matcher fails, `refusal` says so after the draw.
        """
        if len(self._seen) > len(output):
            self._matcher, self._seen = self._compiler.matcher(self._grammar), []
        news: list[int] = output[len(self._seen) :].tolist()
        if news:
            self._seen += news
            self._matcher.consume_tokens(news)
        found = self._matcher.compute_bitmask()
        return self._matcher.compute_bitmask() if self._has_recovered() else found

    def take(self, token: int) -> None:
        """See one token more."""
        self._seen.append(token)
        self._matcher.consume_token(token)
        self._has_recovered()

    def _has_recovered(self) -> bool:
        """Let another matcher see what a failed one has seen; say whether it has not failed."""
        if not self._matcher.is_error():
            return False
        for is_renewed in (False, True):
            if is_renewed:
                self._compiler.forget(self._grammar)
            self._matcher = self._compiler.matcher(self._grammar)
            self._matcher.consume_tokens(self._seen)
            self._matcher.compute_bitmask()
            if not self._matcher.is_error():
                return True
        self._compiler.forget(self._grammar)
        return False
