"""Requests that wait, in the order they will be served."""

from __future__ import annotations

import heapq

from paged.scheduler.request_state import RequestState

_Entry = tuple[tuple[int, float, int], int, RequestState]


class WaitingQueue:
    """Priority queue over `RequestState.key`; removal from the middle is lazy, O(log n).

    A removed entry stays in the heap until it comes to the head. Its ticket tells it from
    a later entry of the same request, or of another request that uses the id again.
    """

    def __init__(self) -> None:
        self._heap: list[_Entry] = []
        self._ticket_of: dict[str, int] = {}
        self._num_pushed = 0

    def __len__(self) -> int:
        return len(self._ticket_of)

    def __contains__(self, request_id: str) -> bool:
        return request_id in self._ticket_of

    def push(self, state: RequestState) -> None:
        """Add a request at its place."""
        self._num_pushed += 1
        heapq.heappush(self._heap, (state.key, self._num_pushed, state))
        self._ticket_of[state.request.request_id] = self._num_pushed

    def remove(self, state: RequestState) -> None:
        """Take a request out wherever it stands."""
        del self._ticket_of[state.request.request_id]
        # invariant: the head of the heap is alive, so `first(1)` is a plain look.
        while self._heap and not self._is_alive(self._heap[0]):
            heapq.heappop(self._heap)

    def first(self, count: int) -> list[RequestState]:
        """Look at the first count requests, in order."""
        if count == 1:
            return [self._heap[0][2]] if self._heap else []
        alive = [entry for entry in self._heap if self._is_alive(entry)]
        return [state for _, _, state in heapq.nsmallest(count, alive)]

    def _is_alive(self, entry: _Entry) -> bool:
        _, ticket, state = entry
        return self._ticket_of.get(state.request.request_id) == ticket
