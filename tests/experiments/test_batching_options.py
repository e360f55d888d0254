"""Flags of the batching experiment."""

from __future__ import annotations

import shlex

import pytest

from experiments.batching_options import ARMS, BatchingOptions, parse_batching_options
from paged.errors import ConfigError


def test_quick_is_smaller_unless_told_otherwise() -> None:
    full, quick = parse_batching_options([]), parse_batching_options(["--quick"])
    assert full.allocators == ARMS
    assert quick.load_size < full.load_size
    assert (quick.pool_slots, full.pool_slots) == (1024, 4096)
    assert (quick.num_rounds, full.num_rounds) == (1, 3)
    told = parse_batching_options(["--quick", "--num-requests", "7", "--rounds", "2"])
    assert (told.load_size, told.num_rounds) == (7, 2)


def test_a_quick_run_leaves_the_results_of_a_full_one_alone() -> None:
    flags: list[list[str]] = [[], ["--quick"], ["--quick", "--out", "x"]]
    folders = [str(parse_batching_options(each).folder) for each in flags]
    assert folders == ["results/batching", "results/batching-quick", "x"]


def test_the_command_does_the_same_work() -> None:
    options = BatchingOptions(model="tiny", fit="paged", allocators=("paged", "static"), quick=True)
    words = shlex.split(options.command)
    assert words[:3] == ["python", "-m", "experiments.batching"]
    assert parse_batching_options(words[3:]) == options


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--allocators", "paged,best"], "unknown allocator 'best'"),
        (["--allocators", "paged"], "--fit names one of --allocators, paged; got 'static'"),
        (["--kv-slots", "none"], "--kv-slots: expected a whole number"),
    ],
)
def test_what_cannot_be_run_is_refused(flags: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_batching_options(flags)
