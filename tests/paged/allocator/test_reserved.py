"""Contiguous reservation: sizes, layouts and slot classes worked out by hand."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from paged.allocator.address_space import AddressSpace
from paged.allocator.base import Demand
from paged.allocator.buddy import BuddySpace
from paged.allocator.fit import FirstFitSpace
from paged.allocator.reserved import (
    ReservationPolicy,
    ReservedAllocator,
    reserve_max,
    reserve_oracle,
    reserve_pow2,
)
from paged.config import CacheConfig
from paged.errors import IntegrityError, OutOfBlocks


def _make(
    space: AddressSpace, policy: ReservationPolicy, *, block_size: int = 16, max_rows: int = 16
) -> ReservedAllocator:
    config = CacheConfig(
        num_blocks=space.num_blocks, block_size=block_size, max_model_len=128 * block_size
    )
    return ReservedAllocator(config, max_rows=max_rows, space=space, policy=policy)


def _rows(allocator: ReservedAllocator, demand: Demand) -> np.ndarray:
    admission = allocator.admit(demand)
    assert admission is not None
    return admission.rows


@pytest.mark.parametrize(
    ("num_new_tokens", "rounded"), [(1, 1), (2, 2), (25, 32), (32, 32), (33, 64), (1500, 1990)]
)
def test_pow2_rounds_the_output_up_to_a_power(num_new_tokens: int, rounded: int) -> None:
    demand = Demand(num_tokens=10, max_tokens=2000, final_tokens=10 + num_new_tokens)
    assert reserve_pow2(demand, 2000) == 10 + rounded


def test_policies_fall_back_on_the_limit_when_the_end_is_unknown() -> None:
    demand = Demand(num_tokens=20, max_tokens=100)
    assert reserve_oracle(demand, 2048) == 100
    assert reserve_pow2(demand, 2048) == 20 + 128
    assert reserve_max(demand, 2048) == 2048
    known = Demand(num_tokens=20, max_tokens=100, final_tokens=30)
    assert reserve_oracle(known, 2048) == 30
    cut_off = Demand(num_tokens=20, max_tokens=100, final_tokens=300)
    assert reserve_oracle(cut_off, 2048) == 100


def test_max_batches_seven_in_the_pool_of_the_paper() -> None:
    allocator = _make(BuddySpace(983, max_span_blocks=128), reserve_max)
    demand = Demand(num_tokens=10, max_tokens=20)
    for _ in range(7):
        assert allocator.admit(demand) is not None
    before = pickle.dumps(allocator)
    assert allocator.admit(demand) is None
    assert pickle.dumps(allocator) == before
    usage = allocator.usage(None)
    assert usage.capacity == 15_728
    assert usage.free == 87 * 16  # 8.85 %, Figure 2's external share
    assert usage.granted_unused == 7 * 2048


def test_table_is_the_range_from_the_start() -> None:
    allocator = _make(FirstFitSpace(20), reserve_oracle, block_size=4)
    first = _rows(allocator, Demand(num_tokens=1, max_tokens=9))
    second = _rows(allocator, Demand(num_tokens=1, max_tokens=30, final_tokens=8))
    assert allocator.tables.row_ids(int(first[0])).tolist() == [0, 1, 2]
    assert allocator.tables.row_ids(int(second[0])).tolist() == [3, 4]
    assert allocator.tables.num_tokens[[first[0], second[0]]].tolist() == [0, 0]
    assert allocator.free_runs().tolist() == [15]
    allocator.release(first)
    assert allocator.free_runs().tolist() == [3, 15]


def test_slot_classes_of_a_rounded_reservation() -> None:
    # 37 tokens -> 10 blocks of 4 granted, a chunk of 16 blocks consumed.
    allocator = _make(BuddySpace(40, max_span_blocks=32), reserve_oracle, block_size=4)
    rows = _rows(allocator, Demand(num_tokens=20, max_tokens=37))
    allocator.grow(rows, np.array([21]))
    final = np.full(16, 99)
    final[rows] = 36
    usage = allocator.usage(final)
    assert usage.classes() == {
        "token": 21,
        "reserved": 15,
        "internal": 4,
        "granted_unused": 0,
        "rounding": 24,
        "cached_free": 0,
        "free": 96,
    }
    assert allocator.usage(None).granted_unused == 19
    allocator.release(rows)
    assert allocator.usage(None).free == 160


def test_growth_ends_with_the_reservation() -> None:
    allocator = _make(FirstFitSpace(20), reserve_oracle, block_size=4)
    rows = _rows(allocator, Demand(num_tokens=5, max_tokens=10, num_sequences=2))
    allocator.grow(rows, np.array([12, 3]))
    before = pickle.dumps(allocator)
    with pytest.raises(OutOfBlocks) as raised:
        allocator.grow(rows, np.array([21, 4]))
    assert (raised.value.num_needed, raised.value.num_available) == (3, 0)
    assert pickle.dumps(allocator) == before


def test_an_emptied_row_keeps_its_reservation() -> None:
    allocator = _make(FirstFitSpace(20), reserve_oracle, block_size=4)
    rows = _rows(allocator, Demand(num_tokens=3, max_tokens=8, num_sequences=2))
    allocator.grow(rows, np.array([3, 5]))
    before = allocator.tables.ids[rows].tolist()
    allocator.empty(rows[1:])
    moves = allocator.fork(int(rows[0]), rows[1:], 3)
    assert allocator.tables.ids[rows].tolist() == before
    assert moves.dst.tolist() == before[1][: len(moves)]
    assert allocator.tables.num_tokens[rows].tolist() == [3, 3]
    allocator.check_integrity()


def test_sequences_of_a_request_are_admitted_together_or_not_at_all() -> None:
    allocator = _make(FirstFitSpace(10), reserve_oracle, block_size=4)
    blocker = _rows(allocator, Demand(num_tokens=1, max_tokens=16))
    group = Demand(num_tokens=8, max_tokens=16, num_sequences=2)
    before = pickle.dumps(allocator)
    assert allocator.admit(group) is None  # room for one of the two
    assert pickle.dumps(allocator) == before
    allocator.release(blocker)
    rows = _rows(allocator, group)
    tables = [allocator.tables.row_ids(row).tolist() for row in rows.tolist()]
    assert tables == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_no_row_is_left() -> None:
    allocator = _make(FirstFitSpace(10), reserve_oracle, max_rows=2)
    demand = Demand(num_tokens=1, max_tokens=1)
    rows = _rows(allocator, demand)
    assert allocator.admit(Demand(num_tokens=1, max_tokens=1, num_sequences=2)) is None
    _rows(allocator, demand)
    assert allocator.admit(demand) is None
    allocator.release(rows)
    assert _rows(allocator, demand).tolist() == rows.tolist()


@pytest.mark.parametrize(
    ("demand", "message"),
    [
        (Demand(num_tokens=1, max_tokens=513), "513 tokens exceed max_model_len, 512"),
        (
            Demand(num_tokens=9, max_tokens=20, final_tokens=8),
            "9 tokens exceed the 8 said to be the most",
        ),
        (Demand(num_tokens=1, max_tokens=1, num_sequences=17), "17 sequences exceed the 16"),
        (
            Demand(num_tokens=1, max_tokens=400),
            "1 x 400 reserved tokens do not fit: 100 blocks of 4 hold 0 such ranges",
        ),
        (
            Demand(num_tokens=1, max_tokens=130, num_sequences=2),
            "2 x 130 reserved tokens do not fit: 100 blocks of 4 hold 1 such ranges",
        ),
    ],
)
def test_what_can_never_fit_is_refused(demand: Demand, message: str) -> None:
    allocator = _make(BuddySpace(100, max_span_blocks=128), reserve_oracle, block_size=4)
    assert str(allocator.refusal(demand)).startswith(message)
    assert allocator.admit(demand) is None


def test_longest_sequence_that_fits_is_not_refused() -> None:
    allocator = _make(BuddySpace(128, max_span_blocks=128), reserve_oracle, block_size=4)
    demand = Demand(num_tokens=500, max_tokens=512)
    assert allocator.refusal(demand) is None
    assert len(_rows(allocator, demand)) == 1


def test_pow2_does_not_hide_a_sequence_that_is_too_long() -> None:
    allocator = _make(FirstFitSpace(1000), reserve_pow2, block_size=4)
    demand = Demand(num_tokens=1, max_tokens=513)
    assert allocator.refusal(demand) == "513 tokens exceed max_model_len, 512"


def test_integrity_check_sees_a_table_out_of_order() -> None:
    allocator = _make(FirstFitSpace(20), reserve_oracle, block_size=4)
    (row,) = _rows(allocator, Demand(num_tokens=1, max_tokens=12))
    allocator.tables.ids[row, :2] = [1, 0]
    with pytest.raises(IntegrityError, match="table of row 0 is not"):
        allocator.check_integrity()


def test_integrity_check_sees_a_range_nobody_holds() -> None:
    space = FirstFitSpace(20)
    allocator = _make(space, reserve_oracle)
    assert space.take(3) is not None
    with pytest.raises(IntegrityError, match="ranges that no row holds"):
        allocator.check_integrity()
