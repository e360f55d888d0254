"""What counts as a difference, and what is said of one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from paged.engine.difference import (
    EndDifference,
    MoveDifference,
    Tolerance,
    differing_site,
    end_difference,
    value_difference,
)
from paged.engine.moved_blocks import WrongMove
from paged.engine.trace import Seen, Site, TokenValues, Values
from paged.errors import ConfigError
from paged.scheduler.batch import Finished
from paged.scheduler.request import FinishReason, Request

SITES = (Site(op="embedding"), Site(op="attention", result="out", layer=1))


def row(*values: float) -> Values:
    return np.array(values, np.float32)


def token_values(*values: Values, slot: int = 9, step: int = 2) -> TokenValues:
    """Return a token's values; its keys and values are written between the two sites."""
    slots = (None, np.array([0, slot]))
    seen = [
        Seen(site, each[None], place)
        for site, each, place in zip(SITES, values, slots, strict=False)
    ]
    return TokenValues(step=step, place=1, seen=seen, values=values)


def finished(num_tokens: int, reason: FinishReason) -> Finished:
    request = Request(request_id="r", prompt_tokens=np.zeros(2, np.int32), max_new_tokens=9)
    return Finished(
        request=request,
        sequence_index=0,
        tokens=np.zeros(num_tokens, np.int32),
        reason=reason,
        num_preemptions=0,
    )


@pytest.mark.parametrize(
    ("tolerance", "expected"),
    [
        (Tolerance(), [False, True, True, False, True, True]),
        (Tolerance(atol=0.05), [False, False, True, False, False, True]),
        (Tolerance(rtol=0.05), [False, False, False, False, False, True]),
    ],
    ids=str,
)
def test_values_may_be_as_far_apart_as_is_said(tolerance: Tolerance, expected: list[bool]) -> None:
    a = row(1.0, 1.01, 10.2, np.nan, 0.0, np.inf)
    b = row(1.0, 1.0, 10.0, np.nan, -0.0, 1.0)
    assert tolerance.differing(a, b).tolist() == expected


@pytest.mark.parametrize("name", ["rtol", "atol"])
@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf, "a", None, True])
def test_a_tolerance_is_a_finite_number(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=f"{name}: expected a finite number at least 0, got"):
        Tolerance(**{name: value})


def test_the_first_site_that_differs_is_found_among_those_that_both_have() -> None:
    whole = token_values(row(1), row(2, 3))
    assert differing_site(whole, token_values(row(1), row(2, 3)), Tolerance()) is None
    assert differing_site(whole, token_values(row(1), row(2, 4)), Tolerance()) == 1
    assert differing_site(whole, token_values(row(0), row(2, 4)), Tolerance()) == 0
    assert differing_site(whole, token_values(row(1)), Tolerance()) is None


def test_models_of_other_sizes_are_not_compared() -> None:
    with pytest.raises(ConfigError, match=r"layer 1 attention: out of 2 values in A, .* of 3 in B"):
        differing_site(
            token_values(row(1), row(2, 3)), token_values(row(1), row(2, 3, 4)), Tolerance()
        )


def test_a_difference_is_told_with_all_one_needs_to_look_for_it() -> None:
    pair = (
        token_values(row(1), row(5, 2, 3, 1), slot=9),
        token_values(row(1), row(5, 4, 3, -1), slot=38, step=7),
    )
    found = value_difference(("r", 6), pair, 1, tolerance=Tolerance(), block_sizes=(4, 16))
    assert found.lines() == [
        "first difference: request r, position 6, layer 1 attention: out",
        "  A: step 2, block 2, slot 1 of it",
        "  B: step 7, block 2, slot 6 of it",
        "  element 1: 2 in A, 4 in B",
        "  2 of 4 elements differ, by at most 2, relative 2",
    ]


def test_before_keys_are_written_there_is_no_block() -> None:
    pair = (token_values(row(1)), token_values(row(2)))
    found = value_difference(("r", 0), pair, 0, tolerance=Tolerance(), block_sizes=(4, 4))
    assert found.lines()[0] == "first difference: request r, position 0, embedding"
    assert found.lines()[1:3] == ["  A: step 2", "  B: step 2"]


def test_values_that_a_tolerance_allows_are_not_counted() -> None:
    pair = (token_values(row(1, 2, 3)), token_values(row(1.5, 2, 13)))
    found = value_difference(("r", 0), pair, 0, tolerance=Tolerance(atol=1.0), block_sizes=(4, 4))
    assert (found.element, found.num_differing, found.max_abs_error) == (2, 1, 10.0)


def test_requests_end_alike_or_not() -> None:
    four = finished(6, FinishReason.LENGTH)
    assert end_difference(four, finished(6, FinishReason.LENGTH)) is None
    assert end_difference(four, finished(6, FinishReason.STOP)) is not None
    other = finished(5, FinishReason.LENGTH)
    assert end_difference(four, other) == EndDifference(a=four, b=other)
    assert EndDifference(a=four, b=other).lines() == [
        "first difference: request r ends after 4 tokens in A (length), after 3 tokens in B"
        " (length)"
    ]


def test_a_wrong_move_is_told_with_its_blocks() -> None:
    move = WrongMove(op="copy_blocks", source=1, destination=4, layer=2, offset=3)
    assert MoveDifference(run="B", move=move).lines() == [
        "first difference: copy_blocks in B",
        "  block 4 is not what it was copied from, block 1: layer 2 of the pool, slot 3"
        " of the block",
    ]
