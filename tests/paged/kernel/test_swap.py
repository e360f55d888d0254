"""Plans of copies between pools, executed on host memory; the copies themselves on a GPU."""

from __future__ import annotations

import ctypes

import pytest
import torch

from paged.errors import OperandError
from paged.kernel.ops.swap_blocks import reference
from paged.kernel.swap import plan_runs, swap_blocks
from tests.helpers.cache_calls import bits, copied
from tests.helpers.kv_pools import PoolShape, make_pool

SHAPE = PoolShape(num_blocks=12, num_layers=3, head_dim=8)


def make_pools(layouts: tuple[str, str] = ("blocks", "blocks")) -> tuple[torch.Tensor, ...]:
    source = torch.Generator().manual_seed(1)
    return tuple(make_pool(SHAPE, torch.bfloat16, source, layout) for layout in layouts)


@pytest.mark.parametrize(
    ("pairs", "num_runs"),
    [
        ([], 0),
        ([[3, 7]], 1),
        ([[3, 7], [4, 8], [5, 9]], 1),
        ([[5, 9], [3, 7], [4, 8]], 1),
        ([[3, 7], [4, 8], [6, 9], [7, 11]], 3),
        ([[3, 8], [4, 7]], 2),
        ([[0, 0], [1, 1], [-1, 2], [2, -1], [12, 3], [2, 12]], 1),
        ([[0, 5], [0, 6]], 2),
        ([[11, 11], [0, 0]], 2),
    ],
)
@pytest.mark.parametrize(
    "layouts", [("blocks", "blocks"), ("gaps", "blocks"), ("tokens", "tokens")]
)
def test_runs_move_the_blocks(
    pairs: list[list[int]], num_runs: int, layouts: tuple[str, str]
) -> None:
    source, destination = make_pools(layouts)
    numbers = torch.tensor(pairs, dtype=torch.int64).view(-1, 2)
    expected = copied(destination)
    reference(source, expected, numbers)
    runs = plan_runs(source, destination, numbers)
    if layouts[0] == "tokens":
        # a block is one piece, but its rows lie in another order than its axes
        assert runs is None
        return
    assert runs is not None
    if layouts[0] == "blocks":
        assert len(runs) == num_runs
    rows = (runs.destinations, runs.sources, runs.sizes_bytes)
    for to, start, num_bytes in zip(*(row.tolist() for row in rows), strict=True):
        ctypes.memmove(to, start, num_bytes)
    assert torch.equal(bits(destination), bits(expected))


@pytest.mark.parametrize("layouts", [("layers", "blocks"), ("blocks", "odd_pitch")])
def test_blocks_in_pieces_have_no_runs(layouts: tuple[str, str]) -> None:
    source, destination = make_pools(layouts)
    assert plan_runs(source, destination, torch.tensor([[0, 0]])) is None


def test_two_pools_in_host_memory_are_refused() -> None:
    source, destination = make_pools()
    with pytest.raises(OperandError, match="one pool on a GPU and one in pinned host memory"):
        swap_blocks(source, destination, torch.tensor([[0, 0]]))


def test_pools_of_other_blocks_are_refused() -> None:
    source, destination = make_pools()
    pairs = torch.tensor([[0, 0]])
    with pytest.raises(OperandError, match="blocks of one shape and dtype"):
        swap_blocks(source, destination[:, :1], pairs)
    with pytest.raises(OperandError, match="blocks of one shape and dtype"):
        swap_blocks(source, destination.half(), pairs)


@pytest.mark.gpu
@pytest.mark.parametrize("to_gpu", [False, True])
@pytest.mark.parametrize("on_side_stream", [False, True])
@pytest.mark.parametrize("head_dim", [8, 4096])
def test_swaps_on_a_gpu(to_gpu: bool, on_side_stream: bool, head_dim: int) -> None:
    # blocks of 1 KiB go through the kernel, those of 576 KiB through a copy engine
    shape = PoolShape(num_blocks=12, num_layers=3, head_dim=head_dim)
    generator = torch.Generator().manual_seed(2)
    host, other = (make_pool(shape, torch.float16, generator) for _ in range(2))
    pairs = torch.tensor([[3, 7], [4, 8], [6, 0], [-1, 2]])
    stream = torch.cuda.Stream() if on_side_stream else torch.cuda.current_stream()
    pinned, device = host.pin_memory(), other.cuda()
    source, destination = (pinned, device) if to_gpu else (device, pinned)
    expected = destination.cpu().clone()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        if not to_gpu:
            # the copy must wait for what the stream still computes
            torch.cuda._sleep(20_000_000)
            device += 1
        swap_blocks(source, destination, pairs)
    stream.synchronize()
    reference(source.cpu(), expected, pairs)
    assert torch.equal(bits(destination.cpu()), bits(expected))
