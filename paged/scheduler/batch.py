"""The ragged batch of one step, and what an executor answers."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np

from paged.allocator.base import NO_MOVES, BlockMoves
from paged.allocator.block_table import BlockTables
from paged.scheduler.request import FinishReason, Request
from paged.types import BlockArray, BoolArray, IndexArray, TokenArray


class Blocked(enum.Enum):
    """What kept the next waiting request from being admitted in a step."""

    NOTHING = "nothing"
    MEMORY = "memory"
    TOKEN_BUDGET = "token_budget"
    SEQUENCE_LIMIT = "sequence_limit"
    BATCH_RUNNING = "batch_running"


@dataclass(slots=True, kw_only=True, eq=False)
class Admitted:
    """A request that got rows in this step, for the first time or again. Not to be written to.

    rows[i] carries sequence sequence_indices[i] of the request.
    """

    request: Request
    rows: IndexArray
    sequence_indices: tuple[int, ...]
    num_cached_tokens: int
    is_resumed: bool


@dataclass(slots=True, kw_only=True, eq=False)
class Batch:
    """All tokens of one step, by sequence. Prefill, chunk and decode are the same.

    Not to be written to (a frozen dataclass would cost several us a step to make).

    Order of work for an executor: swap_out, swap_in, copies, then the tokens.

    rows[seqs]: row of each sequence that computes tokens in this step.
    num_computed[seqs]: tokens whose K and V were stored before the step.
    num_scheduled[seqs]: tokens the step computes, at least 1 each.
    num_samples[seqs]: tokens to draw at the end: 0 while a prompt is unfinished, 1, or
        the number of sequences when a group's shared prompt is complete.
    num_drawn: tokens to draw in all, the sum of num_samples.
    group_tables: block tables of each KV group, by row; one entry serves all groups.
    tokens[max_rows, max_model_len]: token ids by row; valid until the step's update.
    """

    step: int
    rows: IndexArray
    num_computed: IndexArray
    num_scheduled: IndexArray
    num_samples: IndexArray
    num_drawn: int
    group_tables: tuple[BlockTables, ...]
    tokens: TokenArray
    swap_out: BlockMoves = NO_MOVES
    swap_in: BlockMoves = NO_MOVES
    copies: BlockMoves = NO_MOVES
    admitted: tuple[Admitted, ...] = ()
    num_preempted: int = 0
    num_recomputed_tokens: int = 0
    num_waiting: int = 0
    blocked: Blocked = Blocked.NOTHING

    @property
    def num_seqs(self) -> int:
        """Sequences that compute tokens in this step."""
        return len(self.rows)

    @property
    def num_moves(self) -> int:
        """Blocks moved in this step; there can be some where nothing is computed."""
        return len(self.swap_out) + len(self.swap_in) + len(self.copies)

    @property
    def num_tokens(self) -> int:
        """Tokens computed in this step."""
        return int(self.num_scheduled.sum())

    @property
    def num_context_tokens(self) -> int:
        """Tokens whose K and V attention reads in this step."""
        return int(self.num_computed.sum() + self.num_scheduled.sum())

    @property
    def seq_lens(self) -> IndexArray:
        """[seqs] tokens stored when the step has run."""
        return self.num_computed + self.num_scheduled

    @property
    def query_start(self) -> IndexArray:
        """[seqs + 1] first flat token of each sequence, then the total."""
        return np.concatenate([[0], np.cumsum(self.num_scheduled)])

    @property
    def tables(self) -> BlockTables:
        """Block tables of the first KV group."""
        return self.group_tables[0]

    @property
    def block_tables(self) -> BlockArray:
        """[seqs, max blocks] physical block ids; columns beyond seq_lens are garbage."""
        return self.block_tables_of(0)

    def block_tables_of(self, group: int) -> BlockArray:
        """[seqs, max blocks] block ids of one KV group; garbage too where a window has left."""
        width = -(-int(self.seq_lens.max(initial=1)) // self.tables.block_size)
        return self.group_tables[group].ids[self.rows, :width]

    def flatten(self) -> FlatTokens:
        """Lay all tokens of the step out one after the other. O(tokens)."""
        starts = self.query_start
        rows = np.repeat(self.rows, self.num_scheduled)
        within = np.arange(int(starts[-1]), dtype=np.int64) - np.repeat(
            starts[:-1], self.num_scheduled
        )
        positions = np.repeat(self.num_computed, self.num_scheduled) + within
        size = self.tables.block_size
        columns, offsets = np.divmod(positions, size)
        return FlatTokens(
            tokens=self.tokens[rows, positions],
            positions=positions,
            slot_mappings=tuple(
                tables.ids[rows, columns].astype(np.int64) * size + offsets
                for tables in self.group_tables
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatTokens:
    """Per-token arrays of a batch, each [num_tokens].

    slot_mappings: for each KV group, slots of its pool that the tokens' K and V go to.
    """

    tokens: TokenArray
    positions: IndexArray
    slot_mappings: tuple[IndexArray, ...]

    @property
    def slot_mapping(self) -> IndexArray:
        """Slots of the first KV group."""
        return self.slot_mappings[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """What an executor made of a batch.

    tokens[sum(num_samples)]: drawn tokens, in the order of batch.rows.
    is_stopped[sum(num_samples)]: the token ends its sequence (end of text, stop id).
    duration_s: time the step took on the engine's clock.
    parents[sum(num_samples)]: for sequences of a beam search, which of the sequences of
        the request each goes on from, by place among its rows; one that any goes on from
        goes on from itself. Of no meaning elsewhere; None where no search took part.
    searches: beam searches that ended in this step.
    """

    tokens: TokenArray
    is_stopped: BoolArray
    duration_s: float
    parents: IndexArray | None = None
    searches: tuple[EndedSearch, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedSearch:
    """Outcome of a beam search, for each sequence of its request.

    outputs: output tokens, best sequence first. reasons: what ended each.
    """

    request_id: str
    outputs: tuple[TokenArray, ...]
    reasons: tuple[FinishReason, ...]


@dataclass(slots=True, kw_only=True, eq=False)
class Drawn:
    """One token for each of several rows: what an update took from a result. Not to be written to.

    places: index of each token in the result; None where the result has these tokens and
        no others, in this order.
    """

    rows: IndexArray
    tokens: TokenArray
    is_stopped: BoolArray
    places: IndexArray | None = None


NOTHING_DRAWN = Drawn(
    rows=np.zeros(0, np.int64), tokens=np.zeros(0, np.int32), is_stopped=np.zeros(0, np.bool_)
)


@dataclass(slots=True, kw_only=True, eq=False)
class Finished:
    """One sequence that ended in an update. Not to be written to.

    error: what the executor raised, where that is the reason.
    """

    request: Request
    sequence_index: int
    tokens: TokenArray
    reason: FinishReason
    num_preemptions: int
    error: BaseException | None = None

    @property
    def num_new_tokens(self) -> int:
        """Output length in tokens."""
        return len(self.tokens) - self.request.num_prompt_tokens
