"""Time of host attention beside reading the keys and values once, on the same threads.

`floor` reads as many bytes that lie side by side; `blocks` reads the blocks of this pool, in the
order of the tables. The pool holds 64 MiB of keys and values in blocks that lie anywhere, in huge
pages as the engine's pools do. Times and floors of the same chunk are compared, for a machine is
seldom quiet.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture

from bench.compare import Comparison, Contestant, Times, race
from bench.host_floor import CACHE_BYTES, block_floor, host_floor
from bench.report import Collected
from paged.kernel import op_call, use_kernel
from paged.kernel.huge_pages import HugePages

BLOCK_SIZE = 16
NUM_CHUNKS = 5
ROUNDS_PER_CHUNK = 4


class Heads(NamedTuple):
    """Query heads, KV heads and head_dim of a model."""

    num_q: int
    num_kv: int
    head_dim: int


SMOLLM2, LLAMA_3_8B = Heads(9, 3, 64), Heads(32, 8, 128)
SCALARS = {"layer": 0, "max_query_len": 1, "window": None, "softcap": None}


def decode(heads: Heads, kv_t: torch.dtype, num_seqs: int, num_keys: int) -> list[torch.Tensor]:
    """Return the operands of a step that draws one token for each sequence."""
    source = torch.Generator().manual_seed(1)
    width = -(-num_keys // BLOCK_SIZE)
    shape = (num_seqs * width, 1, 2, heads.num_kv, BLOCK_SIZE, heads.head_dim)
    return [
        torch.randn(num_seqs, heads.num_q, heads.head_dim, generator=source),
        HugePages().place(torch.randn(shape, generator=source).to(kv_t)),
        torch.randperm(num_seqs * width, generator=source).int().view(num_seqs, width),
        torch.full((num_seqs,), num_keys, dtype=torch.int32),
        torch.arange(num_seqs + 1, dtype=torch.int32),
    ]


@pytest.mark.parametrize("num_seqs", [1, 32])
@pytest.mark.parametrize("kv_t", [torch.bfloat16, torch.float16, torch.float32], ids=str)
@pytest.mark.parametrize("heads", [SMOLLM2, LLAMA_3_8B], ids=["smollm2-135m", "llama-3-8b"])
def test_attention(
    heads: Heads,
    kv_t: torch.dtype,
    num_seqs: int,
    benchmark: BenchmarkFixture,
    collected: Collected,
) -> None:
    token_bytes = 2 * heads.num_kv * heads.head_dim * kv_t.itemsize
    num_keys = CACHE_BYTES // (num_seqs * token_bytes)
    numbers = SCALARS | {"scale": heads.head_dim**-0.5}
    check(decode(heads, kv_t, 2, 300), numbers)
    operands = decode(heads, kv_t, num_seqs, num_keys)
    num_bytes = num_seqs * num_keys * token_bytes
    num_flops = 4.0 * num_seqs * num_keys * heads.num_q * heads.head_dim
    with use_kernel(attention="host"):
        raced = race(
            benchmark,
            Contestant(
                prepare=lambda: None, run=lambda _: op_call("attention", *operands, **numbers)
            ),
            {
                "floor": host_floor(num_bytes, num_flops),
                "blocks": block_floor(operands[1], operands[2]),
            },
            num_chunks=NUM_CHUNKS,
            rounds_per_chunk=ROUNDS_PER_CHUNK,
        )
    if raced is not None:
        ours, rivals = raced
        notes = {name: rate(times, num_bytes) for name, times in {"ours": ours, **rivals}.items()}
        collected.keep(benchmark, Comparison(unit="call", ours=ours, rivals=rivals, notes=notes))


def check(operands: list[torch.Tensor], numbers: dict[str, int | float | None]) -> None:
    """Compare a smaller call of the same shape with the reference."""
    with use_kernel(attention="host"):
        got = op_call("attention", *operands, **numbers)
    with use_kernel(attention="reference"):
        expected = op_call("attention", *operands, **numbers)
    assert isinstance(got, tuple)
    assert isinstance(expected, tuple)
    torch.testing.assert_close(got[0], expected[0], rtol=1e-4, atol=1e-5)


def rate(times: Times, num_bytes: int) -> str:
    """Return GB/s of keys and values in the middle round."""
    return f"{num_bytes / times.median_us / 1e3:.2f} GB/s"
