"""For each operation the one place that makes a recorded step's calls of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from paged.replay.attention_call import attention
from paged.replay.block_calls import copy_blocks, swap_blocks
from paged.replay.row_calls import gather_kv, rope_write_kv, write_kv
from paged.replay.shape import ReplayShape
from paged.replay.step_problem import StepProblem, StepSource
from paged.scheduler.batch import Batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """What an operation's calls are made of.

    make: makes those of a step, none where the step does not call it.
    moves: the moves of a batch that call it; none where every step does that computes.
    """

    make: Callable[[Batch, ReplayShape, StepSource], Iterable[StepProblem]]
    moves: tuple[str, ...] = ()


CALLS: Mapping[str, Calls] = {
    "attention": Calls(make=attention),
    "write_kv": Calls(make=write_kv),
    "rope_write_kv": Calls(make=rope_write_kv),
    "gather_kv": Calls(make=gather_kv),
    "copy_blocks": Calls(make=copy_blocks, moves=("copies",)),
    "swap_blocks": Calls(make=swap_blocks, moves=("swap_out", "swap_in")),
}
"""By operation. Those that are not here cannot be replayed."""
