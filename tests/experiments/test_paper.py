"""The paper's numbers: they add up, and are compared only where they apply."""

from __future__ import annotations

import pytest

from experiments import paper


def test_figure_2_shares_sum_to_the_pool_up_to_the_rounding_in_print() -> None:
    for name in ("reserved-max", "reserved-pow2", "reserved-oracle"):
        row = paper.ROWS[name]
        shares = (row.token_pct, row.reserved_pct, row.internal_pct, row.others_pct)
        total = sum(share for share in shares if share is not None)
        assert total == pytest.approx(100.0, abs=0.11), name  # Max and Pow2 print 99.9


def test_leftover_of_seven_max_requests_is_the_external_share_of_max() -> None:
    left = paper.CAPACITY_SLOTS - 7 * paper.MAX_MODEL_LEN
    share = 100 * left / paper.CAPACITY_SLOTS
    assert share == pytest.approx(paper.ROWS["reserved-max"].others_pct, abs=0.06)


def test_boundaries_stack_the_printed_classes() -> None:
    assert paper.ROWS["reserved-max"].boundaries_pct() == pytest.approx([20.4, 33.7, 91.0])
    assert paper.ROWS["reserved-oracle"].boundaries_pct() == pytest.approx([38.2, 63.4])
    assert paper.ROWS["paged"].boundaries_pct() == [96.3]


@pytest.mark.parametrize(
    ("workload", "capacity_slots", "block_size", "max_model_len", "expected"),
    [
        ("sharegpt-like", 15_728, 16, 2048, True),
        ("sharegpt-like", 15_728, 1, None, True),
        ("sharegpt-like", 15_616, 256, 2048, True),  # the same pool in whole blocks of 256
        ("sharegpt-like", 15_712, 16, 2048, False),
        ("sharegpt-like", 15_744, 16, 2048, False),
        ("sharegpt-like", 15_728, 16, 4096, False),
        ("alpaca-like", 15_728, 16, 2048, False),
    ],
)
def test_the_paper_is_compared_only_with_its_own_setup(
    workload: str, capacity_slots: int, block_size: int, max_model_len: int | None, expected: bool
) -> None:
    found = paper.is_paper_setup(
        workload=workload,
        capacity_slots=capacity_slots,
        block_size=block_size,
        max_model_len=max_model_len,
    )
    assert found is expected
