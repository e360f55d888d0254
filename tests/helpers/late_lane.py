"""A lane that makes copies as late as it may: when somebody waits for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True)
class LateLane:
    """Stands for a stream of copies that lags behind. num_late: copies that nobody waited for."""

    num_late: int = 0
    waiting: list[tuple[LateTicket, Callable[[], object]]] = field(default_factory=list)

    def submit(self, copies: Callable[[], object]) -> LateTicket:
        ticket = LateTicket(self)
        self.waiting.append((ticket, copies))
        self.num_late += 1
        return ticket

    def run_until(self, ticket: LateTicket) -> None:
        while not ticket.is_over:
            self.run_next()

    def drain(self) -> None:
        while self.waiting:
            self.run_next()

    def run_next(self) -> None:
        ticket, copies = self.waiting.pop(0)
        copies()
        ticket.is_over = True


@dataclass(slots=True, eq=False, weakref_slot=True)
class LateTicket:
    """Copies of a lane; to wait for them is to make them, and those before."""

    lane: LateLane
    is_over: bool = False

    def wait(self) -> None:
        if not self.is_over:
            self.lane.run_until(self)
            self.lane.num_late -= 1
