"""Seeded problems for the operations that move rows and blocks of the KV pool."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from paged.kernel.op import Op
from paged.kernel.ops.accuracy import excess
from paged.kernel.problem import Problem, Tensors, reference_results, same_bits

_NUM_LAYERS = 2
_LAYER = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolCase:
    """A small pool and rows to move."""

    key_t: torch.dtype = torch.float16
    kv_t: torch.dtype = torch.float16
    num_blocks: int = 7
    num_kv_heads: int = 2
    block_size: int = 16
    head_dim: int = 64
    num_tokens: int = 13
    has_scales: bool = False
    is_by_layer: bool = False  # the layers' pools lie one after another

    @property
    def name(self) -> str:
        """What distinguishes the case."""
        key, kv = (str(t).removeprefix("torch.") for t in (self.key_t, self.kv_t))
        scales = " scaled" if self.has_scales else ""
        return f"{key}->{kv}{scales} D{self.head_dim} BS{self.block_size} tokens{self.num_tokens}"


CASES = (
    PoolCase(),
    PoolCase(num_tokens=0),
    PoolCase(
        key_t=torch.bfloat16, kv_t=torch.bfloat16, head_dim=80, block_size=8, is_by_layer=True
    ),
    PoolCase(key_t=torch.float32, kv_t=torch.float32, head_dim=46, block_size=32, num_tokens=1),
    PoolCase(key_t=torch.float32, kv_t=torch.float8_e4m3fn, has_scales=True, head_dim=128),
    PoolCase(key_t=torch.bfloat16, kv_t=torch.float8_e4m3fn, has_scales=True, block_size=1),
)


@dataclass(frozen=True, slots=True)
class _Pool:
    """Operands of one case, all from one seed."""

    case: PoolCase
    source: torch.Generator

    def pool(self) -> torch.Tensor:
        case = self.case
        shape = (case.num_blocks, _NUM_LAYERS, 2, case.num_kv_heads, case.block_size, case.head_dim)
        pool = torch.randn(shape, generator=self.source).to(case.kv_t)
        return pool.transpose(0, 1).contiguous().transpose(0, 1) if case.is_by_layer else pool

    def rows(self, num_heads: int, *, num_kinds: int) -> Sequence[torch.Tensor]:
        """Return slices of one projection, as a model's query, key and value are."""
        case = self.case
        fused = torch.randn(
            (case.num_tokens, num_kinds * num_heads * case.head_dim), generator=self.source
        ).to(case.key_t)
        return fused.view(case.num_tokens, num_kinds, num_heads, case.head_dim).unbind(1)

    def slots(self) -> torch.Tensor:
        """Return distinct slots, every fifth one -1, and one just past the pool."""
        num_slots = self.case.num_blocks * self.case.block_size
        slots = torch.randperm(max(num_slots, self.case.num_tokens), generator=self.source)
        slots = torch.where(slots < num_slots, slots, -1)[: self.case.num_tokens].clone()
        slots[::5] = -1
        slots[3:4] = num_slots
        return slots

    def scales(self) -> torch.Tensor | None:
        if not self.case.has_scales:
            return None
        shape = (_NUM_LAYERS, 2, self.case.num_kv_heads)
        return torch.rand(shape, generator=self.source) + 0.25


def cache_problems(op: Op) -> Iterator[Problem]:
    """Return the problems of an operation on the cache."""
    for seed, case in enumerate(CASES):
        pool = _Pool(case, torch.Generator().manual_seed(seed))
        operands, numbers = _CALLS[op.name](pool)
        yield judged_problem(op, case.name, operands, numbers)


def judged_problem(
    op: Op, name: str, operands: tuple[torch.Tensor | None, ...], numbers: dict[str, Any]
) -> Problem:
    """Return a call with the reference's result as its judge."""
    expected = reference_results(op, operands, numbers)
    return Problem(name=name, operands=operands, numbers=numbers, judge=judge_by(op, expected))


def judge_by(op: Op, expected: Tensors) -> Callable[[Tensors], str | None]:
    """Return what says how results differ from the reference's: in any bit, but for rotations."""

    def judge(results: Tensors) -> str | None:
        if op.name != "rope_write_kv":
            return same_bits(results, expected)
        # careful: rotations in float32 may round to another neighbour than those in float64
        pairs = enumerate(zip(results, expected, strict=True))
        faults = (excess(f"result {i}", a, b.double(), b) for i, (a, b) in pairs)
        return next((fault for fault in faults if fault is not None), None)

    return judge


Call = tuple[tuple[torch.Tensor | None, ...], dict[str, Any]]


def _write_kv(of: _Pool) -> Call:
    key, value = of.rows(of.case.num_kv_heads, num_kinds=2)
    return (key, value, of.pool(), of.slots(), of.scales()), {"layer": _LAYER}


def _rope_write_kv(of: _Pool) -> Call:
    query, key, value = of.rows(of.case.num_kv_heads, num_kinds=3)
    positions = torch.randint(0, 50, (of.case.num_tokens,), generator=of.source)
    angles = torch.rand((50, of.case.head_dim // 4 or 1), generator=of.source) * 6.3
    cos_sin = torch.cat([angles.cos(), angles.sin()], dim=1)
    operands = (query, key, value, of.pool(), of.slots(), positions, cos_sin, of.scales())
    return operands, {"layer": _LAYER, "interleaved": of.case.block_size == 8}


def _pairs(of: _Pool) -> torch.Tensor:
    order = torch.randperm(of.case.num_blocks, generator=of.source)
    num_pairs = min(3, of.case.num_tokens)
    pairs = torch.stack([order[:num_pairs], order[-num_pairs or len(order) :]], dim=1)
    # as those that pad a buffer: outside of the pool, on both sides of it
    outside = torch.tensor([[-1, -2], [of.case.num_blocks, of.case.num_blocks + 1]])
    return torch.cat([pairs, outside]) if num_pairs else pairs


def _copy_blocks(of: _Pool) -> Call:
    return (of.pool(), _pairs(of)), {}


def _swap_blocks(of: _Pool) -> Call:
    return (of.pool(), of.pool(), _pairs(of)), {}


def _gather_kv(of: _Pool) -> Call:
    case = of.case
    num_tokens = min(case.num_tokens, case.num_blocks * case.block_size)
    first = num_tokens // 3
    starts = torch.tensor([0, first, first, num_tokens], dtype=torch.int32)
    max_blocks = -(-num_tokens // case.block_size) + 1
    tables = torch.randint(0, case.num_blocks, (3, max_blocks), generator=of.source)
    tables[2, 0] = case.num_blocks  # outside of the pool: rows of zeros
    like = torch.empty(0, dtype=case.key_t)
    operands = (of.pool(), tables.to(torch.int32), starts, like, of.scales())
    return operands, {"layer": _LAYER, "num_tokens": num_tokens}


_CALLS = {
    "write_kv": _write_kv,
    "rope_write_kv": _rope_write_kv,
    "copy_blocks": _copy_blocks,
    "swap_blocks": _swap_blocks,
    "gather_kv": _gather_kv,
}
