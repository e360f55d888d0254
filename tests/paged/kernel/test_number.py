"""Numbers that are plain are what `bind` would take; all others are left to it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from paged.kernel.binding import bind
from paged.kernel.number import plain_number, plain_values, shaping_names
from paged.kernel.spec import KernelSpec, Launch, Operand, Scalar

VALUES = (
    0, 1, -1, 127, 128, 255, 256, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63 - 1, 2**63,
    True, 1.0, 0.5, -0.0, 65504.0, 65505.0, 3.4028234663852886e38, 1e39, math.inf, -math.inf,
    math.nan, None, np.int32(3), np.float64(0.25), np.float32(0.25),
)  # fmt: skip
DTYPES = ("int8", "uint8", "int32", "int64", "float16", "float32", "float64", "bool")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("settings", [{}, {"default": 3}, {"absent": 4}])
def test_a_plain_number_is_taken_as_it_is(dtype: str, settings: dict[str, Any]) -> None:
    scalar = Scalar(name="x", dtype=dtype, **settings)
    spec = KernelSpec(
        name="take",
        source="",
        launches=(Launch(entry="take", grid=1, block=1),),
        operands=(),
        scalars=(scalar,),
    )
    num_plain = 0
    for numbers in [{}, *({"x": value} for value in VALUES)]:
        values = plain_values([plain_number(scalar)], numbers)
        if values is None:
            continue
        num_plain += 1
        bound = bind(spec, [], numbers).scalars["x"]
        assert values == [bound]
        assert math.copysign(1, values[0]) == math.copysign(1, bound)
    assert num_plain >= 3


@pytest.mark.parametrize("value", [128, -129, 0.5, True, None, math.nan, np.int8(3)])
def test_the_unusual_and_the_wrong_are_not_plain(value: Any) -> None:
    number = plain_number(Scalar(name="x", dtype="int8"))
    assert plain_values([number], {"x": value}) is None


@pytest.mark.parametrize("value", [math.inf, math.nan, 1e39, np.float32(1)])
def test_what_a_float_cannot_hold_is_not_plain(value: Any) -> None:
    number = plain_number(Scalar(name="x", dtype="float32"))
    assert plain_values([number], {"x": value}) is None


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_a_number_must_be_above_its_bound_unless_it_is_absent(dtype: str) -> None:
    number = plain_number(Scalar(name="x", dtype=dtype, absent=0, above=0))
    assert plain_values([number], {"x": None}) == [0]
    assert plain_values([number], {"x": 1}) == [1]
    assert plain_values([number], {"x": 0}) is None
    assert plain_values([number], {"x": -1}) is None


def test_an_omitted_number_without_default_is_not_plain() -> None:
    assert plain_values([plain_number(Scalar(name="x", dtype="int32"))], {}) is None


SHAPED = KernelSpec(
    name="shaped",
    source="",
    launches=(Launch(entry="f<{c}>", grid=("g", "2*h"), block="b", shared_bytes="4*s"),),
    operands=(
        Operand(name="x", shape="n n+a", dtype="float32"),
        Operand(name="out", shape="o", dtype="float32", intent="out"),
    ),
    scalars=(
        *(Scalar(name=name, dtype="int32") for name in "abcghosvyz"),
        Scalar(name="total", dtype="int64", value="v*2"),
    ),
    symbols={"twice": "2*y"},
    constants=("c",),
    requires=("z > 0",),
)


def test_what_shapes_a_call() -> None:
    assert shaping_names(SHAPED) == {*"abcghnosvy"}
