"""The calls of a recorded step that move whole blocks, all layers at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from paged.allocator.base import BlockMoves
from paged.kernel.measure.contents import random_tensor
from paged.replay.shape import ReplayShape
from paged.replay.step_problem import StepProblem, StepSource, judged_step
from paged.scheduler.batch import Batch


def copy_blocks(batch: Batch, shape: ReplayShape, source: StepSource) -> Iterator[StepProblem]:
    """Yield the call, where the step copies blocks. The pool has those that it names."""
    moves = batch.copies.of(shape.group)
    if not len(moves):
        return
    known, numbers = np.unique(np.stack([moves.src, moves.dst], axis=1), return_inverse=True)
    sizes = shape.pool_sizes(len(known), batch.tables.block_size, shape.num_layers)
    pool = random_tensor(sizes, shape.kv_t, source.generator())
    pairs = source.on_device(numbers.reshape(-1, 2))
    text = f"step {source.place}: blocks copied {len(moves):,}"
    yield judged_step("copy_blocks", source, text, (pool, pairs), {})


def swap_blocks(batch: Batch, shape: ReplayShape, source: StepSource) -> Iterator[StepProblem]:
    """Yield the call to the host's pool, and that from it, where the step makes them.

    Both pools are on one device and have the blocks that the call names.
    """
    for which, moves in (("out", batch.swap_out), ("in", batch.swap_in)):
        found = moves.of(shape.group)
        if len(found):
            text = f"step {source.place}: blocks swapped {which} {len(found):,}"
            yield _swap(text, found, batch.tables.block_size, shape, source)


def _swap(
    text: str, moves: BlockMoves, block_size: int, shape: ReplayShape, source: StepSource
) -> StepProblem:
    generator = source.generator()
    sides = [np.unique(ids, return_inverse=True) for ids in (moves.src, moves.dst)]
    origin, destination = (
        random_tensor(
            shape.pool_sizes(len(known), block_size, shape.num_layers), shape.kv_t, generator
        )
        for known, _ in sides
    )
    pairs = source.on_device(np.stack([numbers for _, numbers in sides], axis=1))
    return judged_step("swap_blocks", source, text, (origin, destination, pairs), {})
