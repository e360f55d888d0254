"""Attention problems from a seed, and the judgement of a result.

The pool is NaN and the block tables are far out of range wherever a kernel has no business: past
a sequence's end, before its window, in other layers, in unused blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import torch

from paged.kernel.binding import Number
from paged.kernel.dtypes import element_type
from paged.kernel.expression import cdiv
from paged.kernel.ops.accuracy import excess
from paged.kernel.ops.attention import reference

Layout = Literal["heads", "tokens", "layers", "interleaved", "odd_pitch"]
"""How the pool lies in memory: which axes are outer ones, or rows of odd length."""

LAYOUTS: tuple[Layout, ...] = get_args(Layout)

POISON_BLOCK = 2_147_480_000
"""Block id in entries of the table that must not be used."""

_NUM_LAYERS = 2
_LAYER = 1
# axes of the pool, (block, layer, k|v, head, slot, dim), from the outermost in memory
_ORDERS: Mapping[Layout, tuple[int, ...]] = {
    "heads": (0, 1, 2, 3, 4, 5),
    "tokens": (0, 1, 2, 4, 3, 5),
    "layers": (1, 0, 2, 3, 4, 5),
    "interleaved": (0, 1, 3, 4, 2, 5),
    "odd_pitch": (0, 1, 2, 3, 4, 5),
}


@dataclass(frozen=True, kw_only=True)
class AttentionCase:
    """One problem, small enough to be computed in float64.

    Attributes:
        seq_lens, query_lens: keys, and query tokens, of each sequence.
        num_padding: tokens after the last sequence's.
        shares_blocks: whether full blocks appear several times in the tables.

    """

    seed: int = 0
    q_t: str = "float16"
    kv_t: str = "float16"
    head_dim: int = 64
    group_size: int = 1
    num_kv_heads: int = 1
    seq_lens: tuple[int, ...]
    query_lens: tuple[int, ...]
    num_padding: int = 0
    block_size: int = 16
    layout: Layout = "heads"
    window: int | None = None
    softcap: float | None = None
    has_alibi: bool = False
    has_sinks: bool = False
    has_scales: bool = False
    shares_blocks: bool = False

    @property
    def num_tokens(self) -> int:
        """Query tokens, padding included."""
        return sum(self.query_lens) + self.num_padding

    @property
    def first_keys(self) -> tuple[int, ...]:
        """First key of each sequence that any of its queries sees."""
        if self.window is None:
            return (0,) * len(self.seq_lens)
        pairs = zip(self.seq_lens, self.query_lens, strict=True)
        return tuple(max(0, keys - rows + 1 - self.window) for keys, rows in pairs)


@dataclass(frozen=True, kw_only=True)
class AttentionProblem:
    """Operands and numbers of one call, and what is to come out.

    Attributes:
        operands: as the operator takes them, by position.
        numbers: as it takes them, by keyword.

    """

    operands: tuple[torch.Tensor | None, ...]
    numbers: Mapping[str, Number | None]

    @cached_property
    def exact(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Outputs in float64."""
        return self._reference(torch.float64)

    @cached_property
    def low_precision(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Outputs of the same arithmetic done wholly in the query's dtype."""
        query = self.operands[0]
        assert query is not None, "the query is no optional operand"
        return self._reference(query.dtype)

    def fault(self, out: torch.Tensor, lse: torch.Tensor) -> str | None:
        """Say what is wrong with a result; None where nothing is."""
        exact_out, exact_lse = self.exact
        # all kernels sum scores in float32, whatever the query's dtype
        close = torch.isclose(lse.to(torch.float64), exact_lse, rtol=1e-5, atol=1e-4)
        if not close.all():
            worst = tuple(int(i) for i in (~close).nonzero()[0])
            return (
                f"lse{list(worst)} is {float(lse[worst]):.6g}, exactly "
                f"{float(exact_lse[worst]):.6g}; {int((~close).sum())} of {lse.numel()} differ"
            )
        return excess("out", out, exact_out, self.low_precision[0])

    def _reference(self, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
        return reference(*self.operands, **self.numbers, compute_dtype=dtype)  # pyright: ignore[reportArgumentType]


def make_problem(case: AttentionCase) -> AttentionProblem:
    """Return the operands of a case: the same ones for the same case."""
    source = torch.Generator().manual_seed(case.seed)
    num_q_heads = case.group_size * case.num_kv_heads
    pool, tables = _paged(case, source)
    bounds = torch.tensor([0, *case.query_lens]).cumsum(0)
    slopes = torch.rand(num_q_heads, generator=source) * 0.2
    sinks = torch.randn(num_q_heads, generator=source) * 2
    scales = torch.rand((_NUM_LAYERS, 2, case.num_kv_heads), generator=source) + 0.5
    return AttentionProblem(
        operands=(
            _query(case, source),
            pool,
            tables,
            torch.tensor(case.seq_lens, dtype=torch.int32),
            bounds.to(torch.int32),
            slopes if case.has_alibi else None,
            sinks if case.has_sinks else None,
            scales if case.has_scales else None,
        ),
        numbers={
            "layer": _LAYER,
            "max_query_len": max(case.query_lens, default=0),
            "scale": 1.5 * case.head_dim**-0.5,
            "window": case.window,
            "softcap": case.softcap,
        },
    )


def _query(case: AttentionCase, source: torch.Generator) -> torch.Tensor:
    """Return the query as a slice of a fused projection, NaN in padding tokens."""
    num_q_heads = case.group_size * case.num_kv_heads
    width = (num_q_heads + 2 * case.num_kv_heads) * case.head_dim
    fused = torch.randn((case.num_tokens, width), generator=source)
    fused[sum(case.query_lens) :] = torch.nan
    fused = fused.to(element_type(case.q_t).torch)
    return fused[:, : num_q_heads * case.head_dim].view(-1, num_q_heads, case.head_dim)


def empty_pool(case: AttentionCase, num_blocks: int) -> torch.Tensor:
    """Return a pool of the case's layout, all NaN."""
    shape = (num_blocks, _NUM_LAYERS, 2, case.num_kv_heads, case.block_size, case.head_dim)
    order = _ORDERS[case.layout]
    extra = 1 if case.layout == "odd_pitch" else 0
    memory = torch.empty(
        [shape[axis] for axis in order[:-1]] + [case.head_dim + extra],
        dtype=element_type(case.kv_t).torch,
    ).fill_(torch.nan)
    return memory.permute(*sorted(range(6), key=order.__getitem__))[..., : case.head_dim]


def _paged(case: AttentionCase, source: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a pool in which only visible slots hold numbers, and the block tables."""
    block_size = case.block_size
    needed = [cdiv(length, block_size) for length in case.seq_lens]
    tables = torch.full((len(needed), max(needed, default=0) + 1), POISON_BLOCK, dtype=torch.int32)
    pool = empty_pool(case, sum(needed) + 1)
    free = [int(block) for block in torch.randperm(sum(needed) + 1, generator=source)]
    full: list[int] = []
    for row, (length, first) in enumerate(zip(case.seq_lens, case.first_keys, strict=True)):
        for entry in range(first // block_size, needed[row] if first < length else 0):
            begin = max(first - entry * block_size, 0)
            end = min(length - entry * block_size, block_size)
            is_full = end - begin == block_size
            if case.shares_blocks and is_full and len(full) > 1:
                tables[row, entry] = full[(row + entry) % len(full)]
                continue
            block = free.pop()
            tables[row, entry] = block
            shape = (2, case.num_kv_heads, end - begin, case.head_dim)
            pool[block, _LAYER, :, :, begin:end].copy_(torch.randn(shape, generator=source))
            if is_full:
                full.append(block)
    return pool, tables
