"""Instruction sets of the host backend."""

from __future__ import annotations

import pytest

from paged.errors import ConfigError
from paged.kernel.backends.host_level import LEVELS, cpu_levels, find_level, levels_of


def test_a_cpu_runs_the_levels_whose_flags_it_has() -> None:
    assert levels_of(frozenset({"sse4_2"})) == ()
    assert levels_of(LEVELS["baseline"].cpu_flags) == (LEVELS["baseline"],)
    assert levels_of(LEVELS["avx2"].cpu_flags | {"avx512f"}) == (
        LEVELS["avx2"],
        LEVELS["baseline"],
    )
    assert levels_of(LEVELS["avx512"].cpu_flags) == tuple(LEVELS.values())


def test_this_cpu_runs_at_least_the_lowest_level() -> None:
    assert cpu_levels()[-1] == LEVELS["baseline"]


def test_a_level_says_what_its_library_is_compiled_with() -> None:
    level = LEVELS["avx2"]
    assert level.flags == ("-march=x86-64-v3", "-DPAGED_HOST_LANES=8")
    assert level.tile_features == 16


def test_an_unknown_level_is_refused_with_the_levels_there_are() -> None:
    with pytest.raises(ConfigError, match="one of avx512, avx2, baseline, got 'sse'"):
        find_level("sse")
