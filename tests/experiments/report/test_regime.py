"""Regimes: what every figure says of its run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from experiments.report.regime import regime, series_regime
from experiments.report.results import load_results

SETUP = (
    "sharegpt-like, opt-13b, a100-40gb, pool of 15,728 slots, block size 16,"
    " max length 2,048, saturated arrivals."
)


def test_headline_states_setup_and_measure(write_results: Callable[..., Path]) -> None:
    results = load_results(write_results())
    assert regime(results, results.fragmentation).splitlines() == [
        SETUP,
        "Mean of 3 seeds, time-weighted while a request waits for memory.",
    ]


def test_series_state_their_seed(write_results: Callable[..., Path]) -> None:
    results = load_results(write_results())
    assert series_regime(results).splitlines() == [SETUP, "Seed 0, the whole run."]


def test_sweeps_state_their_range(write_results: Callable[..., Path]) -> None:
    results = load_results(write_results())
    assert results.block_size is not None
    assert results.watermark is not None
    assert "pool of 15,616 to 15,728 slots, block size 1 to 256," in regime(
        results, results.block_size
    )
    assert "watermark 0 to 10 %," in regime(results, results.watermark)


def test_a_run_that_never_waits_says_so(write_results: Callable[..., Path]) -> None:
    folder = write_results("paged", is_minimal=True)
    path = folder / "fragmentation.csv"
    path.write_text(path.read_text().replace("99.5000", "0.0000"))
    results = load_results(folder)
    assert "where none ever does (waiting share 0), over all busy time" in regime(
        results, results.fragmentation
    )
