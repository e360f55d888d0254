"""A call of attention as other libraries take it: sequences of equal lengths side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from paged.kernel.expression import cdiv
from paged.kernel.measure.candidate import Unserved
from paged.kernel.ops.pool import integers
from paged.kernel.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Group:
    """Sequences with the same number of queries and of keys.

    Attributes:
        tokens: [num_seqs * query_len], their rows in the query.
        blocks: [num_seqs * blocks of a sequence], their entries of the table.

    """

    num_seqs: int
    query_len: int
    seq_len: int
    tokens: torch.Tensor
    blocks: torch.Tensor


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batch:
    """A call of attention without its odd features.

    Attributes:
        query: [num_tokens, num_q_heads, head_dim].
        kv_pool: one layer, [num_blocks, 2, num_kv_heads, block_size, head_dim].
        block_tables: int32 [num_seqs, max_blocks]; seq_lens: int32 [num_seqs].

    """

    query: torch.Tensor
    kv_pool: torch.Tensor
    block_tables: torch.Tensor
    seq_lens: torch.Tensor
    scale: float
    groups: tuple[Group, ...]

    @property
    def is_decode(self) -> bool:
        """Whether each sequence has one query."""
        return all(group.query_len == 1 for group in self.groups)

    @property
    def group_size(self) -> int:
        """Query heads that share a KV head."""
        return self.query.shape[1] // self.kv_pool.shape[2]

    def queries(self, group: Group) -> torch.Tensor:
        """Return [num_seqs, num_q_heads, query_len, head_dim], contiguous for one query each."""
        rows = self.query if len(self.groups) == 1 else self.query[group.tokens]
        return rows.view(group.num_seqs, group.query_len, *rows.shape[1:]).transpose(1, 2)

    def gather(self, group: Group) -> torch.Tensor:
        """Return contiguous keys and values [2, num_seqs, num_kv_heads, seq_len, head_dim]."""
        blocks = _select(self.kv_pool, group.blocks).to(self.query.dtype)
        _, _, num_heads, _, head_dim = blocks.shape
        by_seq = blocks.view(group.num_seqs, -1, *blocks.shape[1:]).permute(2, 0, 3, 1, 4, 5)
        kv = by_seq.reshape(2, group.num_seqs, num_heads, -1, head_dim)
        return kv[:, :, :, : group.seq_len]

    def join(self, outputs: Sequence[torch.Tensor]) -> torch.Tensor:
        """Return all groups' outputs, shaped as their queries, in the order of the tokens."""
        rows = [out.transpose(1, 2).reshape(-1, *self.query.shape[1:]) for out in outputs]
        if len(rows) == 1:
            return rows[0]
        joined = torch.empty_like(self.query)
        for group, part in zip(self.groups, rows, strict=True):
            joined[group.tokens] = part
        return joined


def batch_of(problem: Problem) -> Batch:
    """Return a problem as a batch. Raises Unserved where it has features that peers lack."""
    required, features = problem.operands[:5], problem.operands[5:]
    query, pool, tables, seq_lens, query_start = (t for t in required if t is not None)
    numbers = problem.numbers
    if any(f is not None for f in (*features, numbers["window"], numbers["softcap"])):
        raise Unserved("only plain causal attention is compared")
    lengths, starts = integers(seq_lens), integers(query_start)
    return Batch(
        query=query,
        kv_pool=pool[:, int(numbers["layer"] or 0)],
        block_tables=tables,
        seq_lens=seq_lens,
        scale=float(numbers["scale"] or 0),
        groups=tuple(_groups(tables, lengths, starts, pool.shape[4])),
    )


def _groups(
    tables: torch.Tensor, lengths: list[int], starts: list[int], block_size: int
) -> list[Group]:
    members: dict[tuple[int, int], list[int]] = {}
    for row, length in enumerate(lengths):
        members.setdefault((starts[row + 1] - starts[row], length), []).append(row)
    return [
        Group(
            num_seqs=len(rows),
            query_len=query_len,
            seq_len=seq_len,
            tokens=torch.tensor(
                [starts[row] + i for row in rows for i in range(query_len)], device=tables.device
            ),
            blocks=tables[rows, : cdiv(seq_len, block_size)].flatten(),
        )
        for (query_len, seq_len), rows in members.items()
    ]


def _select(pool: torch.Tensor, blocks: torch.Tensor) -> torch.Tensor:
    """Index by block; torch does not for numbers of 8 bits, but for bytes."""
    if pool.element_size() > 1:
        return pool.index_select(0, blocks)
    return pool.view(torch.uint8).index_select(0, blocks).view(pool.dtype)
