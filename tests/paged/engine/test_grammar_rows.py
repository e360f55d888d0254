"""Grammars by row: masks follow the tokens that a row has, whatever was seen before."""

from __future__ import annotations

import re

import numpy as np
import pytest

from model_zoo.loading.byte_tokenizer import ByteTokenizer
from model_zoo.tiny import EOS_ID
from paged.engine.grammar_compiler import GrammarCompiler
from paged.engine.grammar_rows import GrammarRows
from paged.engine.sample_rows import SampleRows
from paged.engine.step_draws import StepDraws
from paged.errors import RequestRefused
from paged.grammar import Grammar
from paged.sampling_params import SamplingParams
from paged.scheduler.batch import Admitted
from paged.scheduler.request import Request
from tests.helpers.draws import rows_of

PROMPT = [1, 2]
EOS_IDS = {EOS_ID}


class _Rows:
    """Rows of a scheduler, each with a prompt and an output of its own."""

    def __init__(self, num_rows: int = 4) -> None:
        self.grammars = GrammarRows(num_rows, GrammarCompiler(ByteTokenizer(), 258))
        self.tokens = np.zeros((num_rows, 64), np.int32)
        self.params: dict[int, SamplingParams] = {}

    def admit(self, row: int, **values: object) -> None:
        params = SamplingParams(**values)  # type: ignore[arg-type]
        request = Request(
            request_id=str(row),
            prompt_tokens=np.array(PROMPT, np.int32),
            max_new_tokens=32,
            sampling=params,
        )
        rows = np.array([row])
        self.params[row] = params
        self.grammars.admit(
            Admitted(
                request=request,
                rows=rows,
                sequence_indices=(0,),
                num_cached_tokens=0,
                is_resumed=False,
            ),
            EOS_IDS,
        )

    def _draws(self, outputs: dict[int, str]) -> StepDraws:
        rows = np.array(list(outputs))
        for row, text in outputs.items():
            self.tokens[row, : len(PROMPT) + len(text)] = [*PROMPT, *text.encode()]
        return StepDraws(
            logit_rows=None,
            rows=rows,
            token_rows=rows,
            num_tokens=np.array([len(PROMPT) + len(text) for text in outputs.values()]),
            places=None,
            num_logits=len(rows),
            prompts=(),
        )

    def constrain(self, outputs: dict[int, str]) -> SampleRows:
        """Constrain the draws of rows that have these outputs."""
        plain = rows_of(
            [self.params[row] for row in outputs],
            outputs=[list(text.encode()) for text in outputs.values()],
            eos_ids=[EOS_ID],
        )
        return self.grammars.constrain(plain, self._draws(outputs), self.tokens)

    def allowed(self, outputs: dict[int, str]) -> dict[int, str]:
        """Return what each row with a grammar may draw; $ is the end of text."""
        masks = self.constrain(outputs).masks
        if masks is None:
            return {}
        rows = [list(outputs)[place] for place in masks.rows]
        return {row: _text(line) for row, line in zip(rows, masks.allowed, strict=True)}

    def advance(self, outputs: dict[int, str], drawn: str) -> dict[int, RequestRefused | None]:
        tokens = [EOS_ID if character == "$" else ord(character) for character in drawn]
        return dict(self.grammars.advance(self._draws(outputs), np.array(tokens, np.int32)))


def _text(allowed: np.ndarray) -> str:
    tokens = np.flatnonzero(allowed).tolist()
    return "".join("$" if token == EOS_ID else chr(token) for token in tokens)


@pytest.fixture
def rows() -> _Rows:
    return _Rows()


def test_only_rows_with_a_grammar_are_masked(rows: _Rows) -> None:
    rows.admit(0)
    rows.admit(1, grammar=Grammar.regex("[a-c]{2}"))
    rows.admit(3, grammar=Grammar.choice(["xy", "z"]))
    assert rows.allowed({3: "", 0: "", 1: ""}) == {3: "xz", 1: "abc"}
    assert rows.allowed({0: ""}) == {}


def test_a_matcher_sees_what_was_drawn(rows: _Rows) -> None:
    rows.admit(2, grammar=Grammar.regex("ab[cd]?"))
    assert rows.allowed({2: ""}) == {2: "a"}
    assert rows.advance({2: ""}, "a") == {}
    assert rows.allowed({2: "a"}) == {2: "b"}
    assert rows.advance({2: "a"}, "b") == {}
    assert rows.allowed({2: "ab"}) == {2: "cd$"}
    assert rows.advance({2: "ab"}, "c") == {0: None}


def test_an_end_of_text_completes_too(rows: _Rows) -> None:
    rows.admit(2, grammar=Grammar.regex("a*"))
    assert rows.advance({2: ""}, "$") == {0: None}


def test_a_row_that_comes_back_sees_its_output_again(rows: _Rows) -> None:
    grammar = Grammar.regex("abc[de]")
    rows.admit(1, grammar=grammar)
    rows.advance({1: ""}, "a")
    rows.admit(2, grammar=grammar)
    assert rows.allowed({2: "abc"}) == {2: "de"}
    rows.admit(1, grammar=Grammar.regex("x"))
    assert rows.allowed({1: ""}) == {1: "x"}


def test_a_draw_that_was_not_taken_is_forgotten(rows: _Rows) -> None:
    rows.admit(0, grammar=Grammar.regex("ab|cd"))
    rows.allowed({0: ""})
    rows.advance({0: ""}, "a")
    assert rows.allowed({0: ""}) == {0: "ac"}
    assert rows.advance({0: ""}, "c") == {}
    assert rows.allowed({0: "c"}) == {0: "d"}


def test_without_the_end_of_text_where_something_else_is_left(rows: _Rows) -> None:
    rows.admit(0, grammar=Grammar.regex("a*"), ignore_eos=True)
    rows.admit(1, grammar=Grammar.regex("()"), ignore_eos=True)
    rows.admit(2, grammar=Grammar.regex("a*"), min_tokens=3)
    rows.admit(3, grammar=Grammar.regex("a|()"), min_tokens=3, stop_token_ids=[97])
    assert rows.allowed(dict.fromkeys(range(4), "")) == {0: "a", 1: "$", 2: "a", 3: "a$"}
    assert rows.allowed({2: "aaa"}) == {2: "a$"}


def test_bans_of_rows_without_a_grammar_stay(rows: _Rows) -> None:
    rows.admit(0, min_tokens=2)
    rows.admit(1, grammar=Grammar.regex("a*"), min_tokens=2)
    banned = rows.constrain({1: "", 0: ""}).banned
    assert banned is not None
    assert (banned.rows.tolist(), banned.tokens.tolist()) == ([1], [EOS_ID])
    assert rows.constrain({1: ""}).banned is None


def test_a_grammar_that_gets_too_complex_ends_its_row_alone(rows: _Rows) -> None:
    many = {"type": "object", "properties": {f"p{i}": {"type": "string"} for i in range(1200)}}
    rows.admit(0, grammar=Grammar.json_schema(many))
    rows.admit(1, grammar=Grammar.regex("a*"))
    ends = rows.advance({0: "", 1: ""}, "{a")
    assert list(ends) == [0]
    assert re.fullmatch("grammar: .* items; max is 2000;[^<]*; ask for a simpler one", str(ends[0]))
    assert rows.allowed({0: "{", 1: "a"}) == {0: "$", 1: "a$"}
