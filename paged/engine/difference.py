"""How two runs of the same requests differ, and what counts as a difference."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np

from paged.engine.moved_blocks import WrongMove
from paged.engine.trace import Site, Token, TokenValues, Values
from paged.errors import ConfigError
from paged.field_checks import expected, is_a
from paged.scheduler.batch import Finished
from paged.types import BoolArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """How far values may be apart: by atol + rtol * |value of B|. Zeros compare each bit."""

    rtol: float = 0.0
    atol: float = 0.0

    def __post_init__(self) -> None:
        for name in ("rtol", "atol"):
            value = getattr(self, name)
            if not is_a(value, Real) or not 0.0 <= value < np.inf:
                raise expected(name, "a finite number at least 0", value)

    def differing(self, a: Values, b: Values) -> BoolArray:
        """Say which values are further apart. Equal bits are equal, those of NaN too."""
        is_apart: BoolArray = a.view(np.uint32) != b.view(np.uint32)
        if (self.rtol or self.atol) and is_apart.any():
            with np.errstate(invalid="ignore"):
                is_apart &= ~(np.abs(a - b) <= self.atol + self.rtol * np.abs(b))
        return is_apart


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where one run computed a value.

    block, offset: of the pool, where the layer's keys and values of the token are; None
        before any were written.
    """

    step: int
    block: int | None
    offset: int | None

    def __str__(self) -> str:
        where = "" if self.block is None else f", block {self.block}, slot {self.offset} of it"
        return f"step {self.step}{where}"

    @classmethod
    def of(cls, values: TokenValues, index: int, block_size: int) -> Place:
        """Return the place of values[index] of a token."""
        slot = values.slot(index)
        block, offset = (None, None) if slot is None else divmod(slot, block_size)
        return cls(step=values.step, block=block, offset=offset)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueDifference:
    """The first value that differs, and how far its row is apart.

    element: index of the first of the row's values that differ. a, b: that value.
    max_abs_error, max_rel_error: over all that differ, relative to the value of B.
    """

    token: Token
    site: Site
    places: tuple[Place, Place]
    element: int
    a: float
    b: float
    num_differing: int
    num_values: int
    max_abs_error: float
    max_rel_error: float

    def lines(self) -> list[str]:
        """Say it in words."""
        request_id, position = self.token
        return [
            f"first difference: request {request_id}, position {position}, {self.site}",
            *(f"  {name}: {place}" for name, place in zip("AB", self.places, strict=True)),
            f"  element {self.element}: {self.a:.9g} in A, {self.b:.9g} in B",
            f"  {self.num_differing} of {self.num_values} elements differ, by at most"
            f" {self.max_abs_error:.3g}, relative {self.max_rel_error:.3g}",
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndDifference:
    """A request that ended otherwise, after tokens that are the same."""

    a: Finished
    b: Finished

    def lines(self) -> list[str]:
        """Say it in words."""
        ends = ", ".join(
            f"after {each.num_new_tokens} tokens in {name} ({each.reason.value})"
            for name, each in (("A", self.a), ("B", self.b))
        )
        return [f"first difference: request {self.a.request.request_id} ends {ends}"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveDifference:
    """A block that one run did not move as it was. run: A or B."""

    run: str
    move: WrongMove

    def lines(self) -> list[str]:
        """Say it in words."""
        move = self.move
        return [
            f"first difference: {move.op} in {self.run}",
            f"  block {move.destination} is not what it was copied from, block {move.source}:"
            f" layer {move.layer} of the pool, slot {move.offset} of the block",
        ]


Difference = ValueDifference | EndDifference | MoveDifference


def differing_site(a: TokenValues, b: TokenValues, tolerance: Tolerance) -> int | None:
    """Return the index of the first site where a token differs; None if it does nowhere.

    Raises ConfigError for models that do not compute the same operations.
    """
    for index, (one, other) in enumerate(zip(a.values, b.values, strict=False)):
        is_same_kind = a.site(index) == b.site(index) and len(one) == len(other)
        if not is_same_kind:
            raise ConfigError(
                "expected models of the same operations and sizes, got"
                f" {a.site(index)} of {len(one)} values in A, {b.site(index)} of {len(other)}"
                " in B; compare models of one architecture"
            )
        if tolerance.differing(one, other).any():
            return index
    return None


def value_difference(
    token: Token,
    values: tuple[TokenValues, TokenValues],
    index: int,
    *,
    tolerance: Tolerance,
    block_sizes: tuple[int, int],
) -> ValueDifference:
    """Describe what differs at one site of a token."""
    a, b = (each.values[index] for each in values)
    is_apart = tolerance.differing(a, b)
    first = int(is_apart.argmax())
    with np.errstate(invalid="ignore", divide="ignore"):
        errors = np.abs(a - b)[is_apart].astype(np.float64)
        relative = errors / np.abs(b[is_apart])
    place_a, place_b = (
        Place.of(each, index, size) for each, size in zip(values, block_sizes, strict=True)
    )
    return ValueDifference(
        token=token,
        site=values[0].site(index),
        places=(place_a, place_b),
        element=first,
        a=float(a[first]),
        b=float(b[first]),
        num_differing=int(is_apart.sum()),
        num_values=len(a),
        max_abs_error=float(errors.max()),
        max_rel_error=float(relative.max()),
    )


def end_difference(a: Finished, b: Finished) -> EndDifference | None:
    """Compare how a request ended whose tokens were compared."""
    is_same = (a.reason, len(a.tokens)) == (b.reason, len(b.tokens))
    return None if is_same else EndDifference(a=a, b=b)
