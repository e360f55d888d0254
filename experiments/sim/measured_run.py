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
from experiments.workload.records import read_records
from experiments.workload.values import parse_seconds

Column = NDArray[np.float64]

WORKLOAD_FILE = "sharegpt_multiturn_300_blk16.jsonl.gz"
REQUESTS_FILE = "vllm019_rtx4090_llama31_8b_requests.jsonl.gz"
TIMESERIES_FILE = "vllm019_rtx4090_llama31_8b_timeseries.csv.gz"

# From the first arrival to tick 0. A prompt counts in the tick after its first token, and
# the first-token times put every tick of the first half between t - 0.143 and t - 0.107 s.
_TICK_ORIGIN_S = -0.125


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

    Raises: WorkloadError if one cannot be read or they are not of one run.
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
    return MeasuredRun(
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
