"""Random numbers that depend on their names alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from paged.engine.philox import derived_seed, philox, uniforms

# Of the authors' own tests (DEShawResearch/random123, tests/kat_vectors).
KNOWN = [
    (["00000000"] * 4, ["00000000"] * 2, ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"]),
    (["ffffffff"] * 4, ["ffffffff"] * 2, ["408f276d", "41c83b0e", "a20bc7c6", "6d5451fd"]),
    (
        ["243f6a88", "85a308d3", "13198a2e", "03707344"],
        ["a4093822", "299f31d0"],
        ["d16cfe09", "94fdcceb", "5001e420", "24126ea1"],
    ),
]


def words(texts: list[str]) -> np.ndarray:
    return np.array([[int(text, 16)] for text in texts], np.uint32)


def numbers(seeds: list[int], sequences: list[int], draws: list[int]) -> np.ndarray:
    return uniforms(*(np.array(each, np.int64) for each in (seeds, sequences, draws)))


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_known_vectors(counter: list[str], key: list[str], expected: list[str]) -> None:
    assert philox(words(counter), words(key)).tolist() == words(expected).tolist()


def test_columns_do_not_know_each_other() -> None:
    counters = np.concatenate([words(counter) for counter, _, _ in KNOWN], axis=1)
    keys = np.concatenate([words(key) for _, key, _ in KNOWN], axis=1)
    together = philox(counters, keys)
    assert together.T.tolist() == [words(expected)[:, 0].tolist() for _, _, expected in KNOWN]


def test_every_part_of_a_name_matters() -> None:
    names = [
        (0, 0, 0),
        (1, 0, 0),
        (2**32, 0, 0),
        (-1, 0, 0),
        (-(2**63), 0, 0),
        (0, 1, 0),
        (0, 0, 1),
    ]
    drawn = numbers(*map(list, zip(*names, strict=True)))
    assert len(set(drawn.tolist())) == len(names)
    assert [numbers([a], [b], [c])[0] for a, b, c in names] == drawn.tolist()


def test_numbers_are_uniform_and_below_one() -> None:
    count = 20_000
    for drawn in (
        numbers([7] * count, [0] * count, list(range(count))),
        numbers([7] * count, list(range(count)), [0] * count),
        numbers(list(range(count)), [0] * count, [0] * count),
    ):
        assert ((drawn >= 0) & (drawn < 1)).all()
        assert stats.kstest(drawn, "uniform").pvalue > 0.01
        # Neighbours are as independent as any two.
        assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < 0.03


def test_numbers_use_all_their_bits() -> None:
    bits = (numbers([3] * 512, [0] * 512, list(range(512))) * 2.0**53).astype(np.uint64)
    shares = [float(((bits >> np.uint64(place)) & np.uint64(1)).mean()) for place in range(53)]
    assert min(shares) > 0.4
    assert max(shares) < 0.6


def test_requests_get_seeds_of_their_own() -> None:
    seeds = [derived_seed(5, number) for number in range(1000)]
    assert len(set(seeds)) == 1000
    assert derived_seed(5, 3) == seeds[3] != derived_seed(6, 3)
    assert all(-(2**63) <= seed < 2**63 for seed in seeds)
    assert min(seeds) < 0 < max(seeds)
