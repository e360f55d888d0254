"""The attention call of a recorded batch: its schedule, with contents from a seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from paged.kernel.measure.workloads import judge_attention, random_tensor
from paged.kernel.ops.attention_cases import POISON_BLOCK, AttentionProblem
from paged.kernel.problem import Problem
from paged.replay.shape import ReplayShape
from paged.scheduler.batch import Batch
from paged.types import BoolArray, IndexArray


@dataclass(frozen=True, slots=True, kw_only=True)
class StepProblem:
    """The call of a step, and how large it is.

    place: of the step in the recording.
    """

    place: int
    attention: AttentionProblem
    num_seqs: int
    num_tokens: int
    longest_query: int
    num_keys: int
    longest_keys: int

    @property
    def problem(self) -> Problem:
        """The call with its judgement."""
        return Problem(
            name=f"step {self.place}",
            operands=self.attention.operands,
            numbers=self.attention.numbers,
            judge=lambda results: judge_attention(self.attention, results),
        )

    @property
    def text(self) -> str:
        """Its size in words."""
        return (
            f"step {self.place}: sequences {self.num_seqs:,}, tokens {self.num_tokens:,} (longest"
            f" {self.longest_query:,}), keys {self.num_keys:,} (longest {self.longest_keys:,})"
        )


def step_problem(
    batch: Batch, shape: ReplayShape, *, place: int, seed: int, device: torch.device
) -> StepProblem:
    """Return the call of one layer; the same batch, place and seed give the same one.

    Blocks are numbered anew, in the order of their ids, so that the pool has no more of them than
    the step sees: [num_blocks, 1, 2, num_kv_heads, block_size, head_dim]. Shared blocks stay
    shared. Slots that no sequence sees are NaN, and so are table entries out of range.
    """
    source = torch.Generator(device).manual_seed(seed + (place << 20))
    pool, tables = _pool_and_tables(batch, shape, source, device)
    num_heads = shape.num_kv_heads * shape.group_size
    query = random_tensor((batch.num_tokens, num_heads, shape.head_dim), shape.q_t, source)
    problem = AttentionProblem(
        operands=(
            *(query, pool, tables, _on(batch.seq_lens.astype(np.int32), device)),
            _on(batch.query_start.astype(np.int32), device),
            *(None, None, None),
        ),
        numbers={
            "layer": 0,
            "max_query_len": int(batch.num_scheduled.max()),
            "scale": shape.head_dim**-0.5,
            "window": shape.window,
            "softcap": None,
        },
    )
    return StepProblem(
        place=place,
        attention=problem,
        num_seqs=batch.num_seqs,
        num_tokens=batch.num_tokens,
        longest_query=int(batch.num_scheduled.max()),
        num_keys=batch.num_context_tokens,
        longest_keys=int(batch.seq_lens.max()),
    )


def _pool_and_tables(
    batch: Batch, shape: ReplayShape, source: torch.Generator, device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    ids, is_seen = seen_blocks(batch, shape)
    known, numbers = np.unique(ids[is_seen], return_inverse=True)
    tables = np.full(ids.shape, POISON_BLOCK, np.int32)
    tables[is_seen] = numbers
    block_size = batch.tables.block_size
    pool = random_tensor(
        (max(len(known), 1), 1, 2, shape.num_kv_heads, block_size, shape.head_dim),
        shape.kv_t,
        source,
    )
    filled = filled_slots(batch.seq_lens, numbers, is_seen, block_size)
    blocks, slots = (np.arange(block_size) >= filled[:, None]).nonzero()
    pool[_on(blocks, device), :, :, :, _on(slots, device)] = torch.nan
    return pool, _on(tables, device)


def seen_blocks(batch: Batch, shape: ReplayShape) -> tuple[IndexArray, BoolArray]:
    """Return the group's table [seqs, most blocks], and which of its entries any query sees."""
    ids = batch.block_tables_of(shape.group).astype(np.int64)
    block_size = batch.tables.block_size
    columns: IndexArray = np.arange(ids.shape[1], dtype=np.int64)
    is_seen: BoolArray = columns * block_size < batch.seq_lens[:, None]
    if shape.window is not None:
        first_key = np.maximum(batch.num_computed + 1 - shape.window, 0)
        is_seen = is_seen & ((columns + 1) * block_size > first_key[:, None])
    return ids, is_seen


def filled_slots(
    seq_lens: IndexArray, numbers: IndexArray, is_seen: BoolArray, block_size: int
) -> IndexArray:
    """Return how many slots of each block hold keys of some sequence.

    numbers: of the entries of the table that are seen, row by row.
    """
    rows, columns = is_seen.nonzero()
    filled = np.zeros(max(int(numbers.max(initial=-1)) + 1, 1), np.int64)
    np.maximum.at(filled, numbers, np.minimum(seq_lens[rows] - columns * block_size, block_size))
    return filled


def _on(array: np.ndarray, device: torch.device) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(array)).to(device)  # pyright: ignore[reportUnknownMemberType]
