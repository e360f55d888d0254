"""The grammars of a running batch: what each row may draw, and where its output is complete."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

import numpy as np

from paged.engine.grammar_compiler import GrammarCompiler
from paged.engine.grammar_row import GrammarRow
from paged.engine.sample_rows import Entries, Masks, SampleRows
from paged.engine.step_draws import StepDraws
from paged.engine.step_result import GrammarEnds
from paged.errors import RequestRefused
from paged.scheduler.batch import Admitted
from paged.types import BoolArray, IndexArray, TokenArray


class GrammarRows:
    """Keeps a matcher by row, always brought to the tokens that the row has.

    So a sequence that was preempted goes on as if it had not been: its matcher starts anew and
    sees all of its output again.
    """

    def __init__(self, max_rows: int, compiler: GrammarCompiler) -> None:
        self._compiler = compiler
        self._on: dict[int, GrammarRow] = {}
        self._is_constrained: BoolArray = np.zeros(max_rows, np.bool_)

    def admit(self, admitted: Admitted, eos_ids: Set[int]) -> None:
        """Learn who is on rows, for the first time or again. eos_ids: the model's own.

        Raises: ConfigError, as `GrammarCompiler.matcher`.
        """
        params = admitted.request.sampling
        grammar = None if params is None else params.grammar
        self._is_constrained[admitted.rows] = grammar is not None
        if params is None or grammar is None:
            return
        banned = np.array(sorted(eos_ids) if params.ignore_eos else [], np.int64)
        for row in admitted.rows.tolist():
            self._on[row] = GrammarRow(
                self._compiler,
                grammar,
                num_prompt_tokens=admitted.request.num_prompt_tokens,
                banned=banned,
            )

    def constrain(self, rows: SampleRows, draws: StepDraws, tokens: TokenArray) -> SampleRows:
        """Let rows with a grammar draw only what it allows. tokens[any, width]: ids by row.

        What is banned besides is banned where the grammar leaves something else.
        """
        places = self._is_constrained[draws.rows].nonzero()[0]
        if not len(places):
            return rows
        allowed = np.stack([self._allowed(draws, tokens, place) for place in places.tolist()])
        banned = rows.banned
        if banned is not None:
            for place, may in zip(places.tolist(), allowed, strict=True):
                _ban(may, banned.tokens[banned.rows == place])
            banned = _without(banned, places)
        return replace(rows, banned=banned, masks=Masks(rows=places, allowed=allowed))

    def advance(self, draws: StepDraws, drawn: TokenArray) -> GrammarEnds:
        """Take what was drawn, drawn[draws], and say whose output ends with it."""
        ends: dict[int, RequestRefused | None] = {}
        for place in self._is_constrained[draws.rows].nonzero()[0].tolist():
            row = self._on[int(draws.rows[place])]
            row.take(int(drawn[place]))
            if row.refusal is not None or row.is_complete:
                ends[place] = row.refusal
        return ends

    def _allowed(self, draws: StepDraws, tokens: TokenArray, place: int) -> BoolArray:
        row = self._on[int(draws.rows[place])]
        end = int(draws.num_tokens[place])
        output = tokens[draws.token_rows[place], row.num_prompt_tokens : end]
        bits = np.frombuffer(row.bits(output), np.uint8)
        count = self._compiler.vocab_size
        allowed = np.unpackbits(bits, count=count, bitorder="little").view(np.bool_)
        _ban(allowed, row.banned)
        return allowed


def _ban(allowed: BoolArray, tokens: IndexArray) -> None:
    """Forbid tokens, unless nothing would be left. Mutates: allowed[vocabulary]."""
    was_allowed = allowed[tokens]
    allowed[tokens] = False
    if not allowed.any():
        allowed[tokens] = was_allowed


def _without(entries: Entries, rows: IndexArray) -> Entries | None:
    """Leave out what concerns some rows; None if that is everything."""
    is_kept = ~np.isin(entries.rows, rows)
    if not is_kept.any():
        return None
    return Entries(
        rows=entries.rows[is_kept], tokens=entries.tokens[is_kept], values=entries.values[is_kept]
    )
