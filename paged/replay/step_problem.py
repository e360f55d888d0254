"""One call that a recorded step makes, with contents from a seed, and its judgement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from paged.kernel.ops.cache_problems import judge_by
from paged.kernel.problem import Problem, Tensors, reference_results
from paged.kernel.registry import find_op
from paged.scheduler.batch import Batch


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSource:
    """What the contents of a step's calls follow from, and where they are.

    place: of the step in the recording.
    """

    place: int
    seed: int
    device: torch.device

    def generator(self) -> torch.Generator:
        """Return what draws the contents: the same for the same step and seed."""
        return torch.Generator(self.device).manual_seed(self.seed + (self.place << 20))

    def on_device(self, array: np.ndarray, dtype: type[np.integer] = np.int64) -> torch.Tensor:
        """Return integers as a tensor of its own."""
        return torch.from_numpy(array.astype(dtype)).to(self.device)  # pyright: ignore[reportUnknownMemberType]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepProblem:
    """A call of a step. place: of the step in the recording. text: its size in words.

    exact: makes the first results, as many as an error is told of.
    """

    place: int
    text: str
    problem: Problem
    exact: Callable[[], Tensors]


def judged_step(
    op: str,
    source: StepSource,
    text: str,
    operands: tuple[torch.Tensor | None, ...],
    numbers: dict[str, Any],
) -> StepProblem:
    """Return a call with the reference's results as its judge and its exact results."""
    found = find_op(op)
    expected = reference_results(found, operands, numbers)
    problem = Problem(
        name=f"step {source.place}",
        operands=operands,
        numbers=numbers,
        judge=judge_by(found, expected),
    )
    return StepProblem(place=source.place, text=text, problem=problem, exact=lambda: expected)


def size_text(batch: Batch, place: int) -> str:
    """Return the size of a step that computes something, in words."""
    return (
        f"step {place}: sequences {batch.num_seqs:,}, tokens {batch.num_tokens:,} (longest"
        f" {batch.num_scheduled.max():,}), keys {batch.num_context_tokens:,} (longest"
        f" {batch.seq_lens.max():,})"
    )
