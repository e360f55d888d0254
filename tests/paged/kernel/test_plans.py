"""Planned calls equal bound ones, word for word where they are refused."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from paged.errors import OperandError
from paged.kernel import plans as plans_module
from paged.kernel.binding import bind
from paged.kernel.plans import Given, Plans
from paged.kernel.spec import KernelSpec
from tests.helpers.ready_calls import SPEC, STRUCT, bound, facts, tensors

NUMBERS = st.fixed_dictionaries(
    {"total": st.integers(0, 3), "layer": st.integers(-1, 10)},
    optional={
        "scale": st.floats(width=32),
        "flag": st.booleans(),
        "window": st.one_of(st.none(), st.integers(-1, 20)),
        "half": st.sampled_from([0, 1.5, -0.0, 7e4]),
        "offset": st.integers(-(2**63), 2**63 - 1),
        "other": st.just(1),
    },
)


@st.composite
def calls(draw: st.DrawFn) -> tuple[list[torch.Tensor | None], dict[str, Any]]:
    rows, width = draw(st.integers(0, 5)), draw(st.integers(1, 3))
    dtype = draw(st.sampled_from([torch.float32, torch.float16]))
    operands = tensors(rows, width, dtype=dtype)
    if draw(st.booleans()):
        operands[0] = torch.zeros(rows, width + 2, dtype=dtype)[:, :width]
    if draw(st.booleans()):
        operands[1] = torch.zeros((rows + 1) // 2, dtype=torch.int32)
    return operands, draw(NUMBERS)


@pytest.mark.parametrize("spec", [SPEC, STRUCT], ids=["parameters", "struct"])
@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")
@given(batch=st.lists(calls(), min_size=2, max_size=6))
def test_calls_equal_bound_ones(spec: KernelSpec, batch: list[Any]) -> None:
    plans = Plans(spec)
    for operands, numbers in [*batch, *batch]:
        ready = plans.ready(Given.of(operands, numbers))
        try:
            expected = bound(spec, operands, numbers)
        except OperandError:
            assert ready is None
            continue
        if ready is not None:
            assert facts(ready) == facts(expected)
        assert facts(plans.add(bind(spec, operands, numbers))) == facts(expected)
        checked, binding = plans.check(Given.of(operands, numbers)), bind(spec, operands, numbers)
        assert checked.sizes == binding.sizes
        assert (checked.types, checked.scalars) == (binding.types, binding.scalars)
        assert [checked.tensors[o.name] for o in spec.given] == operands


def planned(numbers: Mapping[str, Any] | None = None) -> Plans:
    plans = Plans(STRUCT)
    plans.add(bind(STRUCT, tensors(), {"total": 2, "layer": 1, **(numbers or {})}))
    return plans


@pytest.mark.parametrize(
    ("numbers", "is_planned"),
    [
        ({}, True),
        ({"layer": 9, "scale": 3.0, "flag": False, "window": 5}, True),
        ({"window": None, "scale": 3}, True),
        ({"total": 3}, False),
        ({"layer": 10}, False),
        ({"layer": True}, False),
        ({"layer": np.int64(3)}, False),
        ({"window": 0}, False),
        ({"window": 2**31}, False),
        ({"scale": None}, False),
        ({"scale": float("inf")}, False),
        ({"surplus": 1}, False),
    ],
)
def test_late_numbers_need_no_new_plan(numbers: dict[str, Any], is_planned: bool) -> None:
    plans = planned()
    ready = plans.ready(Given.of(tensors(), {"total": 2, "layer": 1, **numbers}))
    assert (ready is not None) == is_planned


def test_requirements_that_held_once_are_asked_again_for_other_sizes() -> None:
    plans = Plans(STRUCT)
    for rows in (4, 2):
        plans.add(bind(STRUCT, tensors(rows), {"total": 2, "layer": 1}))

    def is_planned(rows: int, **late: int) -> bool:
        return plans.ready(Given.of(tensors(rows), {"total": 2, "layer": 9, **late})) is not None

    for _ in range(2):
        assert is_planned(4)
        assert not is_planned(2)  # layer < 8 + parts, of which there is one
        assert is_planned(2, layer=8)
        assert not is_planned(4, layer=10)
        assert not is_planned(4, window=0)


@pytest.mark.parametrize(
    "operands",
    [
        tensors(5),
        tensors(dtype=torch.float16),
        tensors(x=torch.zeros(4, 10)[:, :8]),
        tensors(x=torch.zeros(4, 8).T.contiguous().T),
        tensors(table=torch.zeros(2, dtype=torch.int32)),
        tensors(x=torch.zeros(4, 8, device="meta")),
        tensors(x=torch.zeros(4, 8, requires_grad=True)),
        tensors()[:3],
    ],
    ids=["shape", "dtype", "stride", "order", "optional", "device", "grad", "count"],
)
def test_another_operand_has_another_plan_or_none(operands: list[torch.Tensor | None]) -> None:
    plans = planned()
    assert plans.ready(Given.of(tensors(), {"total": 2, "layer": 1})) is not None
    assert plans.ready(Given.of(operands, {"total": 2, "layer": 1})) is None


@pytest.mark.parametrize("x", [np.zeros((4, 8), np.float32), [1.0], "x"])
def test_what_is_no_tensor_has_no_plan(x: Any) -> None:
    assert planned().ready(Given.of(tensors(x=x), {"total": 2, "layer": 1})) is None


def test_negated_memory_has_no_plan() -> None:
    x = torch.ops.aten._neg_view.default(torch.zeros(4, 8))
    assert planned().ready(Given.of(tensors(x=x), {"total": 2, "layer": 1})) is None


def test_gradients_count_only_where_they_are_kept() -> None:
    operands = tensors(x=torch.zeros(4, 8, requires_grad=True))
    with torch.no_grad():
        assert planned().ready(Given.of(operands, {"total": 2, "layer": 1})) is not None


def test_threads_do_not_mix_their_calls() -> None:
    plans = planned()

    def layer_of(layer: int) -> int:
        ready = plans.ready(Given.of(tensors(), {"total": 2, "layer": layer % 10}))
        assert ready is not None
        expected = bound(STRUCT, tensors(), {"total": 2, "layer": layer % 10})
        assert facts(ready)[3] == facts(expected)[3]
        return layer

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(layer_of, range(400))) == list(range(400))


def test_few_plans_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans_module, "MAX_PLANS", 2)
    plans = Plans(STRUCT)
    numbers = {"total": 2, "layer": 1}
    for rows in range(1, 8):
        plans.add(bind(STRUCT, tensors(rows), numbers))
    kept = [
        rows for rows in range(1, 8) if plans.ready(Given.of(tensors(rows), numbers)) is not None
    ]
    assert kept[-2:] == [6, 7]
    assert len(kept) <= 4
