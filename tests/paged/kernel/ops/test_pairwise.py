"""Pairwise cases: complete, few and repeatable."""

from __future__ import annotations

from itertools import combinations, product

from hypothesis import given
from hypothesis import strategies as st

from paged.kernel.ops.pairwise import pairwise


@given(st.lists(st.integers(1, 5), min_size=2, max_size=5), st.integers(0, 3))
def test_every_pair_of_choices_appears(sizes: list[int], seed: int) -> None:
    factors = {f"f{i}": range(size) for i, size in enumerate(sizes)}
    cases = pairwise(factors, seed)
    for a, b in combinations(factors, 2):
        assert {(c[a], c[b]) for c in cases} == set(product(factors[a], factors[b]))


def test_it_is_far_smaller_than_the_product_and_repeats() -> None:
    factors = {name: range(4) for name in "abcdef"}
    cases = pairwise(factors)
    assert 16 <= len(cases) <= 40  # the product has 4096
    assert cases == pairwise(factors)
    assert cases != pairwise(factors, seed=1)
