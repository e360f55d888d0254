"""Named calls of each operation on which kernels are timed: full size on a GPU, tiny on a CPU.

On a CPU kernels run in the interpreter, which takes some 8 us for a key of one head.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import torch

from paged.errors import KernelSourceError
from paged.kernel.expression import cdiv
from paged.kernel.measure import cache_workloads
from paged.kernel.measure.contents import random_tensor
from paged.kernel.ops.accuracy import excess
from paged.kernel.ops.attention_cases import AttentionProblem
from paged.kernel.problem import Problem, Tensors, copied
from paged.kernel.registry import OP_NAMES

Build = Callable[[torch.device, int], Problem]
"""Makes the call on a device from a seed; all seeds give the same shapes.

Those of `workloads_of` can be keys: equal shapes of an operation have one.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """One call to time.

    Attributes:
        smaller: makes a call of the same shape that the interpreter does in a second or so; None
            where `build` does.

    """

    op: str
    name: str
    build: Build
    smaller: Build | None = None


_FEW_SEQS = 2
_FEW_KEYS = 1024
_FEW_PAIRS = 4096
"""Of a query with a key, for each head."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionShape:
    """A batch for attention. The defaults are an 8B model's: 32 heads over 8 KV heads."""

    seq_lens: tuple[int, ...]
    query_lens: tuple[int, ...] | None = None
    num_kv_heads: int = 8
    group_size: int = 4
    head_dim: int = 128
    block_size: int = 16
    q_t: str = "bfloat16"
    kv_t: str = "bfloat16"

    def problem(self, device: torch.device, seed: int) -> Problem:
        """Return the call: one layer, blocks in random order, every sequence's own."""
        source = torch.Generator(device).manual_seed(seed)
        query_lens = (1,) * len(self.seq_lens) if self.query_lens is None else self.query_lens
        pool_shape = (1, 2, self.num_kv_heads, self.block_size, self.head_dim)
        needed = [cdiv(length, self.block_size) for length in self.seq_lens]
        num_q_heads = self.group_size * self.num_kv_heads
        query_shape = (sum(query_lens), num_q_heads, self.head_dim)
        starts = torch.tensor([0, *query_lens]).cumsum(0)
        problem = AttentionProblem(
            operands=(
                random_tensor(query_shape, self.q_t, source),
                random_tensor((sum(needed), *pool_shape), self.kv_t, source),
                _block_tables(needed, source),
                torch.tensor(self.seq_lens, dtype=torch.int32, device=device),
                starts.to(device, torch.int32),
                None,
                None,
                None,
            ),
            numbers={
                "layer": 0,
                "max_query_len": max(query_lens),
                "scale": self.head_dim**-0.5,
                "window": None,
                "softcap": None,
            },
        )
        return Problem(
            name="attention",
            operands=problem.operands,
            numbers=problem.numbers,
            judge=lambda results: judge_attention(problem, results),
        )

    @property
    def smaller(self) -> AttentionShape:
        """Two of the sequences at most, shortened alike until they are soon interpreted."""
        seq_lens = self.seq_lens[:_FEW_SEQS]
        query_lens = (
            (1,) * len(seq_lens) if self.query_lens is None else self.query_lens[:_FEW_SEQS]
        )
        divisor = 1
        while any(
            n // divisor > _FEW_KEYS or max(1, q // divisor) * (n // divisor) > _FEW_PAIRS
            for q, n in zip(query_lens, seq_lens, strict=True)
        ):
            divisor *= 2
        return replace(
            self,
            seq_lens=tuple(max(1, n // divisor) for n in seq_lens),
            query_lens=tuple(max(1, q // divisor) for q in query_lens),
        )


def judge_attention(problem: AttentionProblem, results: Tensors) -> str | None:
    """Say what is wrong with attention's output, and with its lse where there is one."""
    if len(results) == 2:
        return problem.fault(*results)
    return excess("out", results[0], problem.exact[0], problem.low_precision[0])


def _block_tables(needed: Sequence[int], source: torch.Generator) -> torch.Tensor:
    order = torch.randperm(sum(needed), generator=source, device=source.device)
    rows = torch.split(order.to(torch.int32), list(needed))
    return torch.nn.utils.rnn.pad_sequence(list(rows), batch_first=True)


_K = 1024

ATTENTION_ON_GPU = {
    "b1-s1k": AttentionShape(seq_lens=(_K,)),
    "b1-s4k": AttentionShape(seq_lens=(4 * _K,)),
    "b1-s32k": AttentionShape(seq_lens=(32 * _K,)),
    "b8-s1k": AttentionShape(seq_lens=(_K,) * 8),
    "b8-s4k": AttentionShape(seq_lens=(4 * _K,) * 8),
    "b8-s16k": AttentionShape(seq_lens=(16 * _K,) * 8),
    "b32-s4k": AttentionShape(seq_lens=(4 * _K,) * 32),
    "b64-s1k": AttentionShape(seq_lens=(_K,) * 64),
    "b64-s1k-group8": AttentionShape(seq_lens=(_K,) * 64, group_size=8),
    "b64-s1k-group1": AttentionShape(seq_lens=(_K,) * 64, group_size=1),
    "skewed": AttentionShape(seq_lens=(64 * _K, *(256,) * 63)),
    "b64-s1k-fp8": AttentionShape(seq_lens=(_K,) * 64, kv_t="float8_e4m3fn"),
    "prefill-2k": AttentionShape(seq_lens=(2 * _K,), query_lens=(2 * _K,)),
    "prefill-512-on-8k": AttentionShape(seq_lens=(8 * _K + 512,), query_lens=(512,)),
}

_TINY = AttentionShape(
    seq_lens=(64, 64), num_kv_heads=2, group_size=4, head_dim=64, q_t="float16", kv_t="float16"
)

ATTENTION_ON_CPU = {
    "tiny": _TINY,
    "tiny-prefill": replace(_TINY, seq_lens=(48,), query_lens=(16,)),
}


@lru_cache(maxsize=64)
def _build_of(shape: AttentionShape) -> Build:
    return shape.problem


def workloads_of(op: str, device: torch.device) -> Mapping[str, Workload]:
    """Return an operation's workloads by name, in the order in which they are run."""
    on_gpu = device.type == "cuda"
    if op == "attention":
        shapes = ATTENTION_ON_GPU if on_gpu else ATTENTION_ON_CPU
        builds: Mapping[str, Build] = {name: _build_of(shape) for name, shape in shapes.items()}
        smaller: Mapping[str, Build] = {n: _build_of(s.smaller) for n, s in shapes.items()}
    else:
        builds = cache_workloads.builds_of(op, on_gpu=on_gpu)
        smaller = cache_workloads.builds_of(op, on_gpu=on_gpu, smaller=True)
    return {
        name: Workload(op=op, name=name, build=build, smaller=smaller[name] if on_gpu else None)
        for name, build in builds.items()
    }


def find_workloads(op: str, device: torch.device, names: Sequence[str]) -> list[Workload]:
    """Return an operation's workloads of these names; all where none is given.

    Raises: KernelSourceError for a name that no operation's workload on this device has.
    """
    known = {name for each in OP_NAMES for name in workloads_of(each, device)}
    unknown = sorted(set(names) - known)
    if unknown:
        raise KernelSourceError(
            f"expected a workload for {device.type}: {', '.join(sorted(known))}; got {unknown[0]!r}"
        )
    return [w for name, w in workloads_of(op, device).items() if not names or name in names]


def with_own_memory(problem: Problem) -> Problem:
    """Return the same call on copies of its operands."""
    operands = tuple(None if t is None else copied(t, t.device) for t in problem.operands)
    return replace(problem, operands=operands)
