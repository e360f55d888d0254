"""State that the phases of a step share, and the ways a sequence can leave it."""

from __future__ import annotations

import bisect

import numpy as np

from paged.allocator.base import Allocator, BlockMoves
from paged.config import SchedulerConfig
from paged.scheduler.batch import Finished
from paged.scheduler.queue import WaitingQueue
from paged.scheduler.request import FinishReason
from paged.scheduler.request_state import RequestState
from paged.scheduler.rows import SequenceRows
from paged.types import IndexArray, TokenArray


class SchedulerCore:
    """Where every unfinished request is: waiting, running, or swapped out.

    num_computed[max_rows]: tokens of each row whose K and V are stored, those of the step in
        flight among them: the allocator's own count, not to be written to.
    held_rows: rows of ended sequences that a static batch keeps until all have ended.
    fork_copies: copies that a fork asked for and the next step makes, by request id.
    unforked: groups that are still computing the prompt they share, by their first row.
    aborted: requests given up while they took part in the step in flight.
    ending: requests with sequences to end when no step is in flight.
    searches: those of all requests that are beam searches, by request id.
    finished: sequences that ended and were not reported yet.
    """

    def __init__(
        self, config: SchedulerConfig, allocator: Allocator, *, max_model_len: int
    ) -> None:
        self.config = config
        self.allocator = allocator
        self.max_model_len = max_model_len
        self.rows = SequenceRows(
            max_rows=allocator.tables.max_rows,
            max_model_len=max_model_len,
            block_size=allocator.block_size,
        )
        self.num_computed: IndexArray = allocator.tables.num_tokens
        self.states: dict[str, RequestState] = {}
        self.waiting = WaitingQueue()
        self.swapped: list[RequestState] = []
        self.held_rows: list[int] = []
        self.fork_copies: dict[str, BlockMoves] = {}
        self.unforked: dict[int, RequestState] = {}
        self.aborted: list[RequestState] = []
        self.ending: list[RequestState] = []
        self.searches: dict[str, RequestState] = {}
        self.finished: list[Finished] = []

    @property
    def is_static(self) -> bool:
        """Say whether a batch runs until its last sequence has ended."""
        return self.config.batching == "static"

    def refusal(self, state: RequestState) -> str | None:
        """Set what a request asks for now; say why it can never be given, if so."""
        state.demand = state.make_demand(self.allocator, max_model_len=self.max_model_len)
        return self.allocator.refusal(state.demand)

    def add_swapped(self, state: RequestState) -> None:
        """Let a request wait on the host, at its place in the order."""
        bisect.insort(self.swapped, state, key=lambda other: other.key)

    def end_rows(self, rows: IndexArray, reasons: list[FinishReason]) -> None:
        """End the sequences on some rows, each for its reason, and free what they hold.

        Mutates: everything; a request leaves `states` with its last sequence.
        """
        for row, reason in zip(rows.tolist(), reasons, strict=True):
            state = self.rows.owner_of(row)
            place = state.rows.index(row)
            self._report(state, place, reason)
            self.disown(row)
            del state.rows[place], state.sequence_indices[place]
            if state.saved:
                del state.saved[place]
            self._forget_if_over(state)
        self.rows.stop(rows)
        if self.is_static:
            self._hold(rows)
        else:
            self.allocator.release(rows)

    def is_idle(self, state: RequestState) -> bool:
        """Say whether a request waits, in the queue or on the host, and takes no part in steps."""
        return state.request.request_id in self.waiting or state in self.swapped

    def withdraw(self, state: RequestState) -> None:
        """Take a request out of where it may wait."""
        if state.request.request_id in self.waiting:
            self.waiting.remove(state)
        elif state in self.swapped:
            self.swapped.remove(state)

    def end_request(self, state: RequestState, reason: FinishReason) -> None:
        """End all sequences of a request, wherever it is."""
        self.withdraw(state)
        if state.rows:
            self.end_rows(np.array(state.rows, np.int64), [reason] * len(state.rows))
            return
        for place in range(len(state.sequence_indices)):
            self._report(state, place, reason)
        state.sequence_indices.clear()
        self._forget_if_over(state)

    def end_waiting(self, state: RequestState, place: int, reason: FinishReason) -> None:
        """End one of several sequences of a request in the queue; it asks for less then."""
        self._report(state, place, reason)
        del state.sequence_indices[place]
        if state.saved:
            del state.saved[place]
        if self.refusal(state) is not None:
            # What is left starts from all its tokens, which have outgrown the whole pool.
            self.end_request(state, FinishReason.LENGTH)

    def disown(self, row: int) -> None:
        """Let a row belong to nobody."""
        self.rows.owner[row] = None
        self.unforked.pop(row, None)

    def _hold(self, rows: IndexArray) -> None:
        self.held_rows.extend(rows.tolist())
        if not len(self.rows.running):
            self.release_held()

    def release_held(self) -> None:
        """Free what a static batch keeps for sequences that have ended."""
        self.allocator.release(np.array(self.held_rows, np.int64))
        self.held_rows.clear()

    def _report(self, state: RequestState, place: int, reason: FinishReason) -> None:
        self.finished.append(
            Finished(
                request=state.request,
                sequence_index=state.sequence_indices[place],
                tokens=self._tokens_of(state, place),
                reason=reason,
                num_preemptions=state.num_preemptions,
                error=state.error,
            )
        )

    def _tokens_of(self, state: RequestState, place: int) -> TokenArray:
        if state.saved:
            return state.saved[place]
        if state.rows and state.is_forked:
            return self.rows.known(state.rows[place])
        return np.asarray(state.request.prompt_tokens, np.int32)

    def _forget_if_over(self, state: RequestState) -> None:
        if not state.sequence_indices:
            self.fork_copies.pop(state.request.request_id, None)
            self.searches.pop(state.request.request_id, None)
            del self.states[state.request.request_id]
