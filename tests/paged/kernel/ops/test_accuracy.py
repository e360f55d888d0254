"""The rule of accuracy: what passes and what does not."""

from __future__ import annotations

import torch

from paged.kernel.ops.accuracy import excess

EXACT = torch.linspace(1.0, 2.0, 64, dtype=torch.float64).view(4, 16)
ROUNDED = EXACT.to(torch.float16)


def test_the_exact_result_rounded_once_passes() -> None:
    assert excess("out", ROUNDED, EXACT, ROUNDED) is None
    assert excess("out", EXACT.float(), EXACT, EXACT.float()) is None


def test_twice_the_loss_of_low_precision_passes_and_more_does_not() -> None:
    low = EXACT + 0.01
    assert excess("out", (EXACT + 0.019).half(), EXACT, low) is None
    fault = excess("out", (EXACT + 0.025).half(), EXACT, low)
    assert fault is not None
    assert fault.startswith("out[")
    assert "64 of 64 elements are wrong" in fault


def test_a_row_of_small_values_is_judged_by_itself() -> None:
    exact = EXACT.clone()
    exact[2] *= 1e-3
    low = exact.half()
    got = low.clone()
    got[2, 5] += 0.0005
    fault = excess("out", got, exact, low)
    assert fault is not None
    assert fault.startswith("out[2, 5] is")


def test_infinities_must_be_where_they_belong() -> None:
    exact = EXACT.clone()
    exact[0, 0] = -torch.inf
    assert excess("lse", exact.half(), exact, exact.half()) is None
    for wrong in (torch.inf, torch.nan, 0.0):
        got = exact.half()
        got[0, 0] = wrong
        assert excess("lse", got, exact, exact.half()) is not None
    got = exact.half()
    got[1, 1] = torch.nan
    assert excess("lse", got, exact, exact.half()) is not None


def test_many_small_errors_of_one_direction_are_too_many() -> None:
    exact = torch.zeros(8, 4096, dtype=torch.float64)
    exact[:, 0] = 1.0
    tilted = exact.half() + 0.0009  # less than a rounding of the largest element
    fault = excess("out", tilted, exact, exact.half())
    assert fault is not None
    assert "cosine" in fault


def test_another_shape_is_a_fault_and_nothing_at_all_is_none() -> None:
    assert excess("out", ROUNDED[:2], EXACT, ROUNDED) is not None
    empty = torch.empty(0, 4, dtype=torch.float64)
    assert excess("out", empty.half(), empty, empty) is None
