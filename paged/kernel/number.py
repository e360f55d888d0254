"""Numbers of a call that can be taken as they are, and which of them shape it.

What is not plain is not wrong: numpy's numbers and floats that a dtype rounds to infinity are
left to `bind`, and so is all that is wrong, for it says how.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, inf, nextafter

import torch

from paged.kernel.binding import Number
from paged.kernel.dtypes import element_type
from paged.kernel.expression import expression
from paged.kernel.spec import KernelSpec, Scalar, expressions


@dataclass(frozen=True, slots=True)
class PlainNumber:
    """When a given number needs neither conversion nor refusal.

    Attributes:
        default: what is taken where nothing is given; absent: where None is.
        kinds: exact Python types; low, high: the range of what is given, without infinities.

    """

    name: str
    default: Number | None
    absent: Number | None
    kinds: frozenset[type]
    low: float
    high: float


def plain_number(scalar: Scalar) -> PlainNumber:
    """Return when a number for a scalar is plain."""
    dtype = element_type(scalar.dtype).torch
    if dtype == torch.bool or dtype.is_floating_point:
        kinds = frozenset[type]({bool, int, float} if dtype == torch.bool else {int, float})
        high = torch.finfo(torch.float64 if dtype == torch.bool else dtype).max
        low = -high if scalar.above is None else nextafter(scalar.above, inf)
        return PlainNumber(scalar.name, scalar.default, scalar.absent, kinds, low, high)
    limits = torch.iinfo(dtype)
    kinds = frozenset[type]({int})
    low = limits.min if scalar.above is None else max(limits.min, floor(scalar.above) + 1)
    return PlainNumber(scalar.name, scalar.default, scalar.absent, kinds, low, limits.max)


def plain_values(
    numbers: Sequence[PlainNumber], given: Mapping[str, Number | None]
) -> list[Number] | None:
    """Return what a call gives for these numbers, or None where one of them is not plain."""
    values: list[Number] = []
    for number in numbers:
        value = given.get(number.name, number.default)
        if value is None:
            value = number.absent
            if value is None or type(value) not in number.kinds:
                return None
        elif type(value) not in number.kinds or not number.low <= value <= number.high:
            return None
        values.append(value)
    return values


def shaping_names(spec: KernelSpec) -> frozenset[str]:
    """Return the sizes that shapes, symbols, constants, grids and derived numbers name."""
    texts = [*spec.symbols.values()]
    texts += [s.value for s in spec.scalars if s.value is not None]
    for launch in spec.launches:
        texts += [*expressions(launch.grid), *expressions(launch.block), str(launch.shared_bytes)]
    named = (expression(text).names for text in texts)
    axes = (axis.names for operand in spec.operands for axis in operand.axes)
    return frozenset(spec.constants).union(*named, *axes)
