"""copy_blocks as an operation: reference and least work."""

from __future__ import annotations

import torch

from paged.kernel.binding import bind
from paged.kernel.cost import least_work
from paged.kernel.ops.copy_blocks import OP, reference


def test_whole_blocks_are_copied_and_unknown_ones_skipped() -> None:
    pool = torch.arange(4.0).view(4, 1, 1, 1, 1, 1).expand(4, 2, 2, 1, 3, 2).clone()
    reference(pool, torch.tensor([[3, 0], [-1, 1], [1, -1], [4, 1], [1, 4]]))
    assert pool.flatten(1).unique(dim=1).flatten().tolist() == [3, 1, 2, 3]


def test_least_work_reads_and_writes_each_block_once() -> None:
    pool = torch.zeros((4, 2, 2, 3, 5, 7), dtype=torch.float16)
    pairs = torch.zeros((9, 2), dtype=torch.int64)
    work = least_work(bind(OP.signature, (pool, pairs), {}))
    assert work.bytes == 9 * (2 * 2 * 2 * 2 * 3 * 5 * 7 + 16)
