"""gather_kv as an operation: reference and least work."""

from __future__ import annotations

import torch

from paged.kernel.binding import bind
from paged.kernel.cost import least_work
from paged.kernel.ops.gather_kv import OP, reference

# block b, slot s of layer 1 holds key 10 * b + s and its negative as value
NUMBERS = 10.0 * torch.arange(4).view(4, 1) + torch.arange(2)
POOL = torch.stack([NUMBERS, -NUMBERS], dim=1).view(4, 1, 2, 1, 2, 1).repeat(1, 2, 1, 1, 1, 1)
POOL[:, 0] = torch.nan
TABLES = torch.tensor([[3, 1, 99], [-7, 99, 99], [2, -1, 99]], dtype=torch.int32)
STARTS = torch.tensor([0, 3, 3, 6], dtype=torch.int32)


def test_rows_come_in_the_order_of_sequences() -> None:
    like = torch.empty(0)
    key, value = reference(POOL, TABLES, STARTS, like, layer=1, num_tokens=8)
    # the third row of the last sequence has no block; rows 6 and 7 belong to no sequence
    assert key.flatten().tolist() == [30, 31, 10, 20, 21, 0, 0, 0]
    assert torch.equal(value, -key)


def test_fewer_rows_than_there_are() -> None:
    key, _ = reference(POOL, TABLES, STARTS, torch.empty(0), layer=1, num_tokens=4)
    assert key.flatten().tolist() == [30, 31, 10, 20]


def test_scales_multiply_by_head_and_half() -> None:
    pool = POOL.to(torch.float8_e4m3fn)
    scales = torch.tensor([9.0, 9.0, 0.5, 0.25]).view(2, 2, 1)
    like = torch.empty(0, dtype=torch.bfloat16)
    key, value = reference(pool, TABLES, STARTS, like, scales, layer=1, num_tokens=3)
    assert key.dtype == torch.bfloat16
    assert key.flatten().tolist() == [15, 16, 5]
    assert value.flatten().tolist() == [-7.5, -8, -2.5]


def test_least_work_reads_and_writes_each_row_once() -> None:
    operands = (POOL, TABLES, STARTS, torch.empty(0, dtype=torch.float16), None)
    work = least_work(bind(OP.signature, operands, {"layer": 1, "num_tokens": 6}))
    assert work.bytes == 6 * 2 * 1 * 1 * (4 + 2)


def test_rows_that_may_be_read_are_those_of_sequences() -> None:
    operands = (POOL, TABLES, STARTS, torch.empty(0), None)
    binding = bind(OP.signature, operands, {"layer": 1, "num_tokens": 5})
    assert OP.cost.may_read is not None
    listed = OP.cost.may_read(binding)["kv_pool"]
    assert listed[:, 1].flatten().tolist() == [0, 0, 1, 0, 1, 1, 1, 1]
    assert not listed[:, 0].any()
