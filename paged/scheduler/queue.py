"""Requests that wait, in the order they will be served."""

from __future__ import annotations

import heapq

from paged.scheduler.request_state import RequestState


class WaitingQueue:
    """Priority queue over `RequestState.key`; removal from the middle is lazy, O(log n)."""

    def __init__(self) -> None:
        self._heap: list[tuple[tuple[int, float, int], RequestState]] = []
        self._waiting: set[str] = set()

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, request_id: str) -> bool:
        return request_id in self._waiting

    def push(self, state: RequestState) -> None:
        """Add a request at its place."""
        heapq.heappush(self._heap, (state.key, state))
        self._waiting.add(state.request.request_id)

    def remove(self, state: RequestState) -> None:
        """Take a request out wherever it stands."""
        self._waiting.remove(state.request.request_id)
        self._drop_removed()

    def first(self, count: int) -> list[RequestState]:
        """Look at the first count requests, in order."""
        if count == 1:
            return [self._heap[0][1]] if self._heap else []
        alive = [entry for entry in self._heap if self._is_alive(entry[1])]
        return [state for _, state in heapq.nsmallest(count, alive)]

    def _is_alive(self, state: RequestState) -> bool:
        return state.request.request_id in self._waiting

    def _drop_removed(self) -> None:
        # invariant: the head of the heap is alive, so `first(1)` is a plain look.
        while self._heap and not self._is_alive(self._heap[0][1]):
            heapq.heappop(self._heap)
