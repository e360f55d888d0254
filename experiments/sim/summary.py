"""One row of numbers from a run: what a figure's bar or a table's line shows."""

from __future__ import annotations

import numpy as np

from experiments.sim.record import CLASSES, Column, RunRecord
from experiments.sim.window import Window, steady_window
from paged.types import BoolArray

Measures = dict[str, float | None]
"""Value by column name, in the order of the CSV; None where nothing can be measured."""

SHARE_DECIMALS = 6


def summarise(record: RunRecord, *, is_saturated: bool) -> Measures:
    """Measure a run over its steady window.

    The six shares, the batch and the fragmentation index are weighted by modelled step
    time over the instants in which a request waits for memory: `waiting_share_pct` of
    the window. If none ever waits they cover all busy time, and that share is 0.
    `token_all_time_pct` covers all busy time in any case; `*_per_step*` weighs the
    headline's steps equally. TTFT and normalised latency are None when all requests
    arrive at once, for they would only tell the length of the queue.
    """
    window = steady_window(record, is_saturated=is_saturated)
    duration_s, running = record.steps["duration_s"], record.steps["running"]
    is_busy = window.has_step & (running > 0)
    is_blocked = window.has_step & (record.steps["is_memory_blocked"] > 0)
    is_headline = is_blocked if bool(is_blocked.any()) else is_busy
    weights = np.where(is_headline, duration_s, 0.0)
    window_s = float(duration_s[window.has_step].sum())
    headline: Measures = {
        **shares_pct(record, weights),
        "mean_batch": float(np.average(running, weights=weights)),
        "preemptions_per_completion": _preemptions_per_completion(record, window),
        "waiting_share_pct": 100.0 * float(duration_s[is_blocked].sum()) / window_s,
    }
    return {
        **headline,
        "p50_batch": weighted_quantile(running, weights, 0.50),
        "p99_batch": weighted_quantile(running, weights, 0.99),
        "completions": int(window.has_request.sum()),
        "recomputed_token_pct": _recomputed_pct(record, window),
        "external_fragmentation_index": _fragmentation_index(record, weights),
        "token_all_time_pct": shares_pct(record, np.where(is_busy, duration_s, 0.0))["token_pct"],
        "token_per_step_pct": shares_pct(record, is_headline.astype(np.float64))["token_pct"],
        "mean_batch_per_step": float(np.average(running, weights=is_headline)),
        "throughput_tokens_per_s": _sum(record, "new_tokens", window.has_step) / window_s,
        "throughput_requests_per_s": int(window.has_request.sum()) / window_s,
        **_latencies(record, window, is_saturated=is_saturated),
        "num_steps": int(is_busy.sum()),
        "window_start_s": window.start_s,
        "window_end_s": window.end_s,
        "is_steady_window": int(window.is_steady),
    }


def shares_pct(record: RunRecord, weights: Column) -> dict[str, float]:
    """Weighted share of the pool by class, in %.

    Rounded to SHARE_DECIMALS by largest remainder, so that they sum to 100 as printed.
    """
    mean_slots = [float(np.average(record.steps[name], weights=weights)) for name in CLASSES]
    scale = 10**SHARE_DECIMALS
    exact = np.array(mean_slots) / record.capacity_slots * 100 * scale
    units = np.floor(exact).astype(np.int64)
    num_missing = 100 * scale - int(units.sum())
    units[np.argsort(units - exact, kind="stable")[:num_missing]] += 1
    return {f"{name}_pct": unit / scale for name, unit in zip(CLASSES, units.tolist(), strict=True)}


def weighted_quantile(values: Column, weights: Column, share: float) -> float:
    """Smallest value that at least `share` of the weight does not exceed."""
    order = np.argsort(values, kind="stable")
    cumulative = np.cumsum(weights[order])
    position = int(np.searchsorted(cumulative, share * cumulative[-1]))
    return float(values[order][position])


def _sum(record: RunRecord, column: str, mask: BoolArray) -> float:
    return float(record.steps[column][mask].sum())


def _ratio(numerator: float, denominator: float) -> float | None:
    return numerator / denominator if denominator else None


def _preemptions_per_completion(record: RunRecord, window: Window) -> float | None:
    num_preempted = _sum(record, "preempted", window.has_step)
    return _ratio(num_preempted, int(window.has_request.sum()))


def _recomputed_pct(record: RunRecord, window: Window) -> float | None:
    """Tokens computed again, in % of those computed for the first time."""
    recomputed = _sum(record, "recomputed_tokens", window.has_step)
    computed = _sum(record, "computed_tokens", window.has_step)
    return _ratio(100.0 * recomputed, computed - recomputed)


def _fragmentation_index(record: RunRecord, weights: Column) -> float | None:
    if record.holes is None:
        return None
    weight_of_sample = record.holes.weigh(weights)
    return float(np.average(record.holes.index, weights=weight_of_sample))


def _latencies(record: RunRecord, window: Window, *, is_saturated: bool) -> Measures:
    """Mean latencies of the requests that ended in the window, from their arrival on."""
    requests = {name: column[window.has_request] for name, column in record.requests.items()}
    first_s, last_s = requests["first_token_s"], requests["finished_s"]
    num_tokens = requests["output_tokens"]
    has_gap = num_tokens > 1
    decode_s = (last_s - first_s)[has_gap] / (num_tokens[has_gap] - 1)
    ttft_s = first_s - requests["arrival_s"]
    normalized_s = (last_s - requests["arrival_s"]) / num_tokens
    return {
        "normalized_latency_s_per_token": None if is_saturated else _mean(normalized_s),
        "mean_ttft_s": None if is_saturated else _mean(ttft_s),
        "mean_tpot_s": _mean(decode_s),
    }


def _mean(values: Column) -> float | None:
    return float(values.mean()) if len(values) else None
