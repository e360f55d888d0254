"""The budget of a rendering."""

from __future__ import annotations

from typing import Any

import pytest
from jinja2.exceptions import SecurityError

from model_zoo.loading.template_budget import ITEM, MAX_DEPTH, UNITS, VISIT, Budget


def test_what_is_spent_is_gone_until_the_next_rendering() -> None:
    budget = Budget()
    assert budget.spend(UNITS)
    assert budget.spent == UNITS
    with pytest.raises(SecurityError, match=f"more work than making {UNITS} .*--chat-template"):
        budget.spend(1)
    budget.renew()
    assert budget.spent == 0


@pytest.mark.parametrize(
    ("value", "units"),
    [
        ("abc", ITEM + 3),
        (None, VISIT),
        (1.5, VISIT),
        (7, VISIT + 3),
        ([], VISIT),
        (["ab", ["c"]], 4 * VISIT + 3),
        (("ab", "c"), 3 * VISIT + 3),
        ({"a": ["bc"]}, 4 * VISIT + 3),
        ({"a": 0}.items(), 4 * VISIT + 1),
        (range(5), VISIT + 5),
    ],
)
def test_a_value_weighs_all_that_it_holds(value: object, units: int) -> None:
    budget = Budget()
    budget.weigh(value)
    assert budget.spent == units


def test_a_list_weighs_as_often_as_it_is_walked() -> None:
    value: list[Any] = []
    for _ in range(4):
        value = [value, value]
    budget = Budget()
    budget.weigh(value, per_item=VISIT)
    assert budget.spent == VISIT * (2**5 - 1)
    for _ in range(60):
        value = [value, value]
    with pytest.raises(SecurityError, match="more work"):
        budget.weigh(value)


def test_deep_lists_are_refused_before_they_fill_the_stack() -> None:
    value: list[Any] = []
    for _ in range(MAX_DEPTH):
        value = [value]
    Budget().weigh(value[0])
    with pytest.raises(SecurityError, match="nests lists more than 200 deep"):
        Budget().weigh(value)


@pytest.mark.parametrize("value", ["a\nb", "\x00", ["\U0010ffff" * 9], [1.1] * 3, {"a": (None, 1)}])
def test_a_text_costs_no_less_than_it_has_characters(value: object) -> None:
    budget = Budget()
    budget.text(value)
    assert budget.spent >= len(str(value))


def test_a_search_pays_for_comparing_long_needles() -> None:
    costs: list[int] = []
    for needle in ("a", "a" * 640):
        budget = Budget()
        budget.search("b" * 1000, needle)
        costs.append(budget.spent)
    assert costs == [2015, 12000]
