"""Host attention: a row's result is the same bits however its batch is made and computed."""

from __future__ import annotations

import itertools

import pytest
import torch

from paged.kernel.backends.host import load_host
from paged.kernel.backends.host_level import HostLevel
from paged.kernel.backends.host_ops import run_host_op
from paged.kernel.binding import padded
from paged.kernel.choice import current_choices
from paged.kernel.ops.attention import OP
from paged.kernel.plans import Given
from tests.helpers.host_levels import RUNNABLE, in_level, levels

NUM_TOKENS = 700  # of the sequence under test: two tiles and a part
BLOCK_SIZE = 16
NUM_Q_HEADS, NUM_KV_HEADS = 6, 2
# No whole vectors, and only whole pairs of them at any level.
HEAD_DIMS = (40, 64)

Tensors = tuple[torch.Tensor, ...]


class Sequence:
    """Queries, keys and values of one sequence."""

    def __init__(self, num_tokens: int, seed: int, kv_t: torch.dtype, head_dim: int) -> None:
        source = torch.Generator().manual_seed(seed)
        self.query = torch.randn(num_tokens, NUM_Q_HEADS, head_dim, generator=source)
        shape = (2, NUM_KV_HEADS, num_tokens, head_dim)
        self.kv = torch.randn(*shape, generator=source).to(kv_t)


def attend(
    parts: list[tuple[Sequence, int, int]],
    *,
    seed: int,
    num_threads: int = 2,
    level: HostLevel = RUNNABLE[0],
    window: int | None = None,
    num_spare_blocks: int = 5,
) -> list[Tensors]:
    """Return out and lse of the tokens [begin, end) of some sequences, in one batch.

    Each sequence knows its first `end` tokens. Blocks lie anywhere; what nobody wrote is NaN.
    """
    source = torch.Generator().manual_seed(seed)
    num_blocks = [-(-end // BLOCK_SIZE) for _, _, end in parts]
    width = max(num_blocks)
    total = sum(num_blocks) + num_spare_blocks
    order = torch.randperm(total, generator=source).int()
    kv_t, head_dim = parts[0][0].kv.dtype, parts[0][0].kv.shape[-1]
    pool = torch.full((total, 1, 2, NUM_KV_HEADS, BLOCK_SIZE, head_dim), torch.nan).to(kv_t)
    tables = torch.full((len(parts), width), -1, dtype=torch.int32)
    used = 0
    for i, (sequence, begin, end) in enumerate(parts):
        tables[i, : num_blocks[i]] = order[used : used + num_blocks[i]]
        used += num_blocks[i]
        first = 0 if window is None else max(0, begin + 1 - window)
        for token in range(first, end):
            block = int(tables[i, token // BLOCK_SIZE])
            pool[block, 0, :, :, token % BLOCK_SIZE] = sequence.kv[:, :, token]
        tables[i, : first // BLOCK_SIZE] = -1
    lengths = [end - begin for _, begin, end in parts]
    starts = torch.tensor([0, *lengths]).cumsum(0).int()
    operands = (
        torch.cat([sequence.query[begin:end] for sequence, begin, end in parts]),
        pool,
        tables,
        torch.tensor([end for _, _, end in parts]).int(),
        starts,
    )
    numbers = {
        "layer": 0,
        "max_query_len": max(lengths),
        "scale": head_dim**-0.5,
        "window": window,
    }
    given = Given.of(padded(OP.signature, operands), numbers)
    with in_level(level, num_threads):
        results = run_host_op(OP, given, load_host(current_choices().host))
    assert isinstance(results, tuple)
    return list(zip(*(result.split(lengths) for result in results), strict=True))


def assert_same(got: Tensors, expected: Tensors) -> None:
    for one, other in zip(got, expected, strict=True):
        assert torch.isfinite(one).all()
        assert torch.equal(one.view(torch.int32), other.view(torch.int32))


@pytest.fixture(
    scope="module", params=itertools.product([torch.float32, torch.bfloat16], HEAD_DIMS), ids=str
)
def sequence(request: pytest.FixtureRequest) -> Sequence:
    return Sequence(NUM_TOKENS, 1, *request.param)


@levels
@pytest.mark.parametrize("window", [None, 100])
def test_chunks_and_single_tokens_give_the_bits_of_the_whole(
    sequence: Sequence, level: HostLevel, window: int | None
) -> None:
    ((out, lse),) = attend([(sequence, 0, NUM_TOKENS)], seed=2, level=level, window=window)
    bounds = [0, 1, 7, 255, 256, 257, 400, 640, 641, NUM_TOKENS]
    for begin, end in itertools.pairwise(bounds):
        (got,) = attend([(sequence, begin, end)], seed=begin, level=level, window=window)
        assert_same(got, (out[begin:end], lse[begin:end]))


@pytest.mark.parametrize("num_threads", [1, 2, 3])
def test_batch_mates_and_threads_change_no_bit(sequence: Sequence, num_threads: int) -> None:
    last = NUM_TOKENS - 1
    (alone,) = attend([(sequence, last, NUM_TOKENS)], seed=3, num_threads=1)
    head_dim = sequence.kv.shape[-1]
    mates = [Sequence(n, n, sequence.kv.dtype, head_dim) for n in (1, 300, 33)]
    batch = [(mate, 0, len(mate.query)) for mate in mates]
    batch.insert(2, (sequence, last, NUM_TOKENS))
    results = attend(batch, seed=4, num_threads=num_threads)
    assert_same(results[2], alone)
    for mate, result in zip(mates, results[:2] + results[3:], strict=True):
        (own,) = attend([(mate, 0, len(mate.query))], seed=5, num_threads=num_threads)
        assert_same(result, own)


def test_a_long_sequence_is_split_without_a_change(sequence: Sequence) -> None:
    last = [(sequence, NUM_TOKENS - 1, NUM_TOKENS)]
    (whole,) = attend(last, seed=6, num_threads=1)
    (split,) = attend(last, seed=6, num_threads=4)
    assert_same(split, whole)
