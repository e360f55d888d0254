"""write_kv as an operation: signature, reference, least work."""

from __future__ import annotations

import torch

from paged.kernel.binding import bind
from paged.kernel.cost import least_work
from paged.kernel.ops.write_kv import OP, reference


def test_signature() -> None:
    assert OP.schema == (
        "write_kv(Tensor key, Tensor value, Tensor(a2!) kv_pool, Tensor slot_mapping, "
        "Tensor? kv_scales=None, *, int layer) -> ()"
    )


def test_keys_and_values_land_in_their_halves() -> None:
    pool = torch.zeros((2, 1, 2, 1, 2, 1))
    key = torch.tensor([1.0, 2.0]).view(2, 1, 1)
    reference(key, key * 10, pool, torch.tensor([3, -1, 0]), layer=0)
    assert pool.flatten().tolist() == [0, 0, 0, 0, 0, 1, 0, 10]


def test_least_work_counts_rows_once_on_each_side() -> None:
    key = torch.zeros((5, 3, 8), dtype=torch.float32)
    pool = torch.zeros((2, 1, 2, 3, 4, 8)).to(torch.float8_e4m3fn)
    slots = torch.zeros(9, dtype=torch.int64)
    binding = bind(OP.signature, (key, key, pool, slots, None), {"layer": 0})
    work = least_work(binding)
    assert work.bytes == 5 * (2 * 3 * 8 * (4 + 1) + 8)
    assert work.flops == 0
