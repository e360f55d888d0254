"""Calls of recorded steps in small, and their operands by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch

from paged.kernel.registry import find_op
from paged.replay.calls import CALLS
from paged.replay.shape import ReplayShape
from paged.replay.step_problem import StepProblem, StepSource
from paged.scheduler.batch import Batch
from tests.helpers.recorded_runs import recorded_batches

SHAPE = ReplayShape(
    num_kv_heads=2, group_size=2, head_dim=16, num_layers=3, q_t="float32", kv_t="float32"
)
WINDOWED = ReplayShape(
    num_kv_heads=1, group_size=1, head_dim=16, q_t="float32", kv_t="float32", window=8, group=1
)
CPU = torch.device("cpu")


def calls_of(
    op: str, batch: Batch, shape: ReplayShape = SHAPE, *, seed: int = 0
) -> list[StepProblem]:
    """Return the calls of a batch."""
    source = StepSource(place=batch.step, seed=seed, device=CPU)
    return list(CALLS[op].make(batch, shape, source))


def all_calls(
    op: str, run: Path, shape: ReplayShape = SHAPE
) -> Iterator[tuple[Batch, StepProblem]]:
    """Yield the calls of a recording, each with its batch."""
    for batch in recorded_batches(run):
        yield from ((batch, call) for call in calls_of(op, batch, shape))


def operand(op: str, call: StepProblem, name: str) -> torch.Tensor:
    """Return an operand by name."""
    names = [each.name for each in find_op(op).signature.given]
    tensor = call.problem.operands[names.index(name)]
    assert tensor is not None, name
    return tensor
