"""swap_blocks as an operation: reference and least work."""

from __future__ import annotations

import pytest
import torch

from paged.errors import OperandError
from paged.kernel import op_call, use_kernel
from paged.kernel.binding import bind
from paged.kernel.cost import least_work
from paged.kernel.ops.swap_blocks import OP, reference


def _pool(num_blocks: int) -> torch.Tensor:
    first = torch.arange(float(num_blocks)).view(-1, 1, 1, 1, 1, 1)
    return first.expand(num_blocks, 2, 2, 1, 3, 2).clone()


def test_whole_blocks_are_copied_and_unknown_ones_skipped() -> None:
    source, destination = _pool(3), -_pool(5)
    reference(source, destination, torch.tensor([[2, 4], [1, 0], [3, 1], [0, 5], [-1, 2], [2, -1]]))
    assert destination.flatten(1).unique(dim=1).flatten().tolist() == [1, -1, -2, -3, 2]
    assert torch.equal(source, _pool(3))


@pytest.mark.parametrize("variant", ["reference", "simple"])
def test_pools_on_two_devices_are_told_where_to_go(variant: str) -> None:
    operands = (_pool(3).to("meta"), _pool(5), torch.zeros((4, 2), dtype=torch.int64))
    reason = r"'destination' must be on meta.*got cpu; paged\.kernel\.swap\.swap_blocks copies"
    with use_kernel(swap_blocks=variant), pytest.raises(OperandError, match=reason):
        op_call("swap_blocks", *operands)


def test_least_work_reads_and_writes_each_block_once() -> None:
    pairs = torch.zeros((4, 2), dtype=torch.int64)
    work = least_work(bind(OP.signature, (_pool(3), _pool(5), pairs), {}))
    assert work.bytes == 4 * (2 * 4 * 2 * 2 * 1 * 3 * 2 + 16)
