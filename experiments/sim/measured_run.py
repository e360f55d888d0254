"""A recorded serving run: its state every second and the times of its requests.

Recorded by casys-kaist/LLMServingSim (bench/examples/RTX4090/Llama-3.1-8B/vllm): vLLM
0.19.0, Llama-3.1-8B in bf16 on an RTX 4090, 300 ShareGPT conversations, Poisson
arrivals at 10 a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.workload import Workload, WorkloadError, load_trace
from experiments.workload.errors import require
from experiments.workload.records import read_records
from experiments.workload.values import parse_seconds

Column = NDArray[np.float64]

WORKLOAD_FILE = "sharegpt_multiturn_300_blk16.jsonl.gz"
REQUESTS_FILE = "vllm019_rtx4090_llama31_8b_requests.jsonl.gz"
TIMESERIES_FILE = "vllm019_rtx4090_llama31_8b_timeseries.csv.gz"

# From the first arrival to tick 0. A prompt counts in the tick after its first token, and
# the first-token times put every tick of the first half between t - 0.143 and t - 0.107 s.
_TICK_ORIGIN_S = -0.125
_MIN_TICKS = 20
_MAX_COUNT = 1e7  # requests or tokens in a second: far above any server


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasuredRun:
    """What was recorded. Times count from the first arrival.

    tick_s[ticks]: when the state was looked at, once a second.
    running, waiting, kv_pct [ticks]: requests, and % of the blocks that are not free.
    prompt_tokens, new_tokens [ticks]: since the tick before; recomputed ones excluded.
    arrival_s, first_token_s, finished_s [requests]: in the order of the workload.
    """

    workload: Workload
    tick_s: Column
    running: Column
    waiting: Column
    kv_pct: Column
    prompt_tokens: Column
    new_tokens: Column
    arrival_s: Column
    first_token_s: Column
    finished_s: Column

    @property
    def num_fit_ticks(self) -> int:
        """Ticks of the first half: all that a fit may look at."""
        return len(self.tick_s) // 2


def load_measured_run(directory: Path) -> MeasuredRun:
    """Read the three files of the run from a folder of traces.

    Raises: WorkloadError if one cannot be read, they are not of one run, or it is no
        run that can be fitted.
    """
    workload = load_trace(directory / WORKLOAD_FILE)
    ticks = _read_columns(
        directory / TIMESERIES_FILE,
        ("t", "running", "waiting", "kv_cache_pct", "prompt_throughput", "gen_throughput"),
    )
    requests = _read_columns(
        directory / REQUESTS_FILE,
        ("input_toks", "output_toks", "queued_ts", "first_token_ts", "last_token_ts"),
    )
    if not (
        np.array_equal(requests["input_toks"], workload.prompt_tokens)
        and np.array_equal(requests["output_toks"], workload.output_tokens)
    ):
        raise WorkloadError(
            f"{REQUESTS_FILE} and {WORKLOAD_FILE} in {directory} list different requests;"
            " expected the same lengths in the same order"
        )
    origin_s = requests["queued_ts"].min()
    run = MeasuredRun(
        workload=workload,
        tick_s=ticks["t"] + _TICK_ORIGIN_S,
        running=ticks["running"],
        waiting=ticks["waiting"],
        kv_pct=ticks["kv_cache_pct"],
        prompt_tokens=ticks["prompt_throughput"],
        new_tokens=ticks["gen_throughput"],
        arrival_s=requests["queued_ts"] - origin_s,
        first_token_s=requests["first_token_ts"] - origin_s,
        finished_s=requests["last_token_ts"] - origin_s,
    )
    _check_ticks(run.tick_s)
    _check_states(run)
    _check_times(run)
    return run


def _check_ticks(tick_s: Column) -> None:
    require(
        len(tick_s) >= _MIN_TICKS,
        f"{TIMESERIES_FILE}: expected at least {_MIN_TICKS} ticks, got {len(tick_s)}",
    )
    apart_s = np.diff(tick_s, prepend=_TICK_ORIGIN_S)
    is_second = np.abs(apart_s - 1.0) < 0.1
    at = int(np.argmin(is_second))
    require(
        bool(is_second.all()),
        f"{TIMESERIES_FILE}: t: expected a tick each second, the first at 1, got tick"
        f" {at + 1} {apart_s[at]:g} s after the one before",
    )


def _check_states(run: MeasuredRun) -> None:
    """Refuse states out of range, and a first half in which nothing happens."""
    for name in ("running", "waiting", "kv_pct", "prompt_tokens", "new_tokens"):
        column: Column = getattr(run, name)
        most = 100.0 if name == "kv_pct" else _MAX_COUNT
        require(
            bool(((column >= 0.0) & (column <= most)).all()),
            f"{TIMESERIES_FILE}: {name}: expected values from 0 to {most:.0f}, got some"
            f" from {column.min():g} to {column.max():g}",
        )
        require(
            name == "waiting" or bool(column[: run.num_fit_ticks].any()),
            f"{TIMESERIES_FILE}: {name}: 0 at every tick of the first half; nothing to fit",
        )


def _check_times(run: MeasuredRun) -> None:
    in_order = (run.arrival_s <= run.first_token_s) & (run.first_token_s <= run.finished_s)
    require(
        bool(in_order.all()),
        f"{REQUESTS_FILE}: expected queued_ts <= first_token_ts <= last_token_ts,"
        f" not so of request {int(np.argmin(in_order)) + 1}",
    )
    require(
        bool((run.first_token_s > run.arrival_s).any()),
        f"{REQUESTS_FILE}: every first_token_ts is the queued_ts: no server is that fast",
    )


def _read_columns(path: Path, names: Sequence[str]) -> dict[str, Column]:
    rows: list[list[float]] = []
    for record in read_records(path):
        missing = [name for name in names if name not in record.fields]
        if missing:
            raise WorkloadError(
                f"{path}:{record.line}: expected the field {missing[0]},"
                f" got {', '.join(record.fields)}"
            )
        rows.append([parse_seconds(record.fields[name]) for name in names])
    return dict(zip(names, np.array(rows).reshape(-1, len(names)).T, strict=True))
