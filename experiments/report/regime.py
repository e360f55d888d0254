"""The regime of a run in words: no figure is read without it."""

from __future__ import annotations

import numpy as np

from experiments.report.frame import Frame
from experiments.report.results import Results


def regime(results: Results, frame: Frame) -> str:
    """State workload, hardware, pool, arrivals and seeds, then how rows were averaged."""
    return f"{_setup(results, frame)}.\n{_measure(frame)}."


def series_regime(results: Results) -> str:
    """State the regime of the time series, which show the first seed alone."""
    frame = results.fragmentation
    first = frame.select(frame["seed"] == frame["seed"][0])
    return f"{_setup(results, first)}.\nSeed {first['seed'][0]:.0f}, the whole run."


def _setup(results: Results, frame: Frame) -> str:
    parts = [
        " and ".join(frame.names("workload")),
        *_named(results),
        f"pool of {_range(frame, 'capacity_slots')} slots",
        f"block size {_range(frame, 'block_size')}",
        *_watermark(frame),
        *_limits(results),
    ]
    return ", ".join(parts)


def _measure(frame: Frame) -> str:
    num_seeds = len(np.unique(frame["seed"]))
    seeds = "1 seed" if num_seeds == 1 else f"Mean of {num_seeds} seeds"
    text = f"{seeds}, time-weighted while a request waits for memory"
    if not np.all(frame["waiting_share_pct"] > 0):
        text += "; where none ever does (waiting share 0), over all busy time"
    return text


def _named(results: Results) -> list[str]:
    settings = (results.setting("model"), results.setting("gpu"))
    return [name for name in settings if isinstance(name, str)]


def _watermark(frame: Frame) -> list[str]:
    if "watermark" not in frame:
        return []
    low, high = np.min(frame["watermark"]) * 100, np.max(frame["watermark"]) * 100
    return [f"watermark {low:g} %" if low == high else f"watermark {low:g} to {high:g} %"]


def _limits(results: Results) -> list[str]:
    parts: list[str] = []
    max_model_len = results.setting("max_model_len")
    if isinstance(max_model_len, int):
        parts.append(f"max length {max_model_len:,}")
    arrivals = results.setting("arrivals")
    if isinstance(arrivals, str):
        parts.append(f"{arrivals} arrivals")
    budget = results.setting("max_num_batched_tokens")
    if isinstance(budget, int):
        parts.append(f"token budget {budget:,}")
    return parts


def _range(frame: Frame, column: str) -> str:
    low, high = np.min(frame[column]), np.max(frame[column])
    return f"{low:,.0f}" if low == high else f"{low:,.0f} to {high:,.0f}"
