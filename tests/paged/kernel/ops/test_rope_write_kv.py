"""rope_write_kv as an operation: reference, refusals, least work."""

from __future__ import annotations

import math

import pytest
import torch

from paged.errors import OperandError
from paged.kernel.binding import bind
from paged.kernel.cost import least_work
from paged.kernel.ops.rope_write_kv import OP, reference, rotate

# position 0 stands still, position 1 turns pair 0 by a quarter and pair 1 by an eighth
ANGLES = torch.tensor([[0.0, 0.0], [math.pi / 2, math.pi / 4]], dtype=torch.float64)
COS_SIN = torch.cat([ANGLES.cos(), ANGLES.sin()], dim=1).float()
DIAGONAL = math.sqrt(0.5)


@pytest.mark.parametrize(
    ("interleaved", "expected"),
    [
        (False, [-3, 2 * DIAGONAL - 4 * DIAGONAL, 1, 2 * DIAGONAL + 4 * DIAGONAL, 5]),
        (True, [-2, 1, 3 * DIAGONAL - 4 * DIAGONAL, 3 * DIAGONAL + 4 * DIAGONAL, 5]),
    ],
)
def test_pairs_turn_and_the_rest_stays(interleaved: bool, expected: list[float]) -> None:
    x = torch.tensor([1.0, 2, 3, 4, 5]).expand(3, 1, 5)
    turned = rotate(x, torch.tensor([1, 0, 2]), COS_SIN, interleaved=interleaved)
    assert turned.dtype == torch.float64
    # cosines and sines are float32, so that results are right to 1e-7 of the largest element
    assert turned[0, 0].tolist() == pytest.approx(expected, abs=1e-6)
    assert torch.equal(turned[1], x[1].double())
    assert not turned[2].any()


def test_an_empty_table_knows_no_position() -> None:
    x = torch.ones((2, 1, 4))
    assert not rotate(x, torch.tensor([0, -1]), COS_SIN[:0], interleaved=False).any()


def test_only_known_positions_are_written() -> None:
    pool = torch.zeros((2, 1, 2, 1, 2, 4))
    x = torch.tensor([1.0, 2, 3, 4]).expand(3, 1, 4)
    slots = torch.tensor([0, 1, 3, 2])
    out = reference(x, x, x, pool, slots, torch.tensor([0, -1, 1]), COS_SIN, layer=0)
    rows = pool.permute(2, 0, 4, 1, 3, 5).reshape(2, 4, 4)
    assert rows[1].tolist() == [[1, 2, 3, 4], [0] * 4, [0] * 4, [1, 2, 3, 4]]
    assert rows[0, 0].tolist() == [1, 2, 3, 4]
    assert torch.equal(rows[0, 3], out[2, 0].float())
    assert not rows[:, 1:3].any()
    assert not out[1].any()


def _operands(rotary_dim: int) -> tuple[torch.Tensor | None, ...]:
    query = torch.zeros((3, 4, 8), dtype=torch.bfloat16)
    key = torch.zeros((3, 2, 8), dtype=torch.bfloat16)
    pool = torch.zeros((1, 1, 2, 2, 4, 8)).to(torch.float8_e4m3fn)
    numbers = torch.zeros(3, dtype=torch.int64)
    return query, key, key, pool, numbers, numbers, torch.zeros((5, rotary_dim)), None


def test_least_work_counts_every_row_once_on_each_side() -> None:
    binding = bind(OP.signature, _operands(6), {"layer": 0})
    work = least_work(binding)
    assert work.bytes == 3 * (2 * 4 * 8 * 2 + 2 * 2 * 8 * (2 + 1) + 4 * 6 + 16)
    assert work.flops == 3 * 3 * (4 + 2) * 6


@pytest.mark.parametrize(
    ("rotary_dim", "condition"), [(10, "rotary_dim <= head_dim"), (5, "rotary_dim % 2 == 0")]
)
def test_impossible_rotations_are_refused(rotary_dim: int, condition: str) -> None:
    with pytest.raises(OperandError, match=condition):
        bind(OP.signature, _operands(rotary_dim), {"layer": 0})
