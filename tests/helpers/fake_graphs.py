"""Recording without a GPU: what is recorded is called again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from paged.engine.graph_capture import Work


@dataclass(slots=True)
class FakeCapture:
    """Stands for CUDA graphs. num_replays: of each recording, in the order they were made."""

    num_replays: list[int] = field(default_factory=list)
    computes: bool = False

    def __call__(self, work: Work) -> Callable[[], None]:
        number = len(self.num_replays)
        self.num_replays.append(0)
        work()

        def replay() -> None:
            self.num_replays[number] += 1
            work()

        return replay
