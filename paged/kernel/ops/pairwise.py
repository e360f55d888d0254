"""Few cases that together show every pair of choices: the size of a test matrix without its cost.

Most faults need one or two unusual choices at once, so covering all pairs finds nearly what the
full product would.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

Choice = tuple[str, int]
Pair = tuple[Choice, Choice]

_NUM_CANDIDATES = 40


def pairwise(factors: Mapping[str, Sequence[object]], seed: int = 0) -> list[dict[str, int]]:
    """Return cases, as one index a factor, in which any two factors show all their pairs.

    The same factors and seed give the same cases. Greedy: each case begins with the first pair
    not shown yet, and of some random completions the one with the most new pairs is taken.
    """
    source = random.Random(seed)
    missing = dict.fromkeys(_all_pairs(factors))
    cases: list[dict[str, int]] = []
    while missing:
        forced = dict(next(iter(missing)))
        candidates = [
            {
                name: forced.get(name, source.randrange(len(values)))
                for name, values in factors.items()
            }
            for _ in range(_NUM_CANDIDATES)
        ]
        best = max(candidates, key=lambda case: sum(pair in missing for pair in _pairs(case)))
        for pair in _pairs(best):
            missing.pop(pair, None)
        cases.append(best)
    return cases


def _all_pairs(factors: Mapping[str, Sequence[object]]) -> Iterator[Pair]:
    for a, b in combinations(factors, 2):
        for i in range(len(factors[a])):
            for j in range(len(factors[b])):
                yield (a, i), (b, j)


def _pairs(case: Mapping[str, int]) -> Iterator[Pair]:
    return combinations(case.items(), 2)
