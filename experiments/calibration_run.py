"""The run behind `python -m experiments.calibration`: fit, replay, write, summarise."""

from __future__ import annotations

import csv
import json
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import numpy as np
from tqdm import tqdm

from experiments.output import published, require_writable
from experiments.report.calibration_figure import draw_calibration
from experiments.sim.calibrate import (
    CACHE,
    GPU,
    MODEL,
    NUM_FIT_ROUNDS,
    SCHEDULER,
    Replay,
    Score,
    fit,
    mean_times,
    replay,
    score,
)
from experiments.sim.measured_run import MeasuredRun, load_measured_run
from experiments.sim.setup import recorded_shape
from paged.engine.chrome_trace import chrome_trace
from paged.engine.engine import Observer
from paged.engine.step_time import AffineStepTime, RooflineStepTime
from paged.errors import ConfigError
from paged.recording.recorder import recording_to

MAX_RUNNING_MAE, MAX_KV_MAE_POINTS, MAX_ERROR_PCT = 3.0, 3.0, 5.0

RECORDING = "batches.rec"

STATES = ("running", "waiting", "kv_pct", "new_tokens")


def run(trace_dir: Path | None, out: Path, *, is_recorded: bool = False) -> None:
    """Fit, replay, write the results folder and print the summary.

    is_recorded: also write the batches of the fitted replay, to batches.rec.

    Raises: ConfigError, WorkloadError for bad input; nothing is written.
    """
    if trace_dir is None:
        raise ConfigError("no folder of traces: give --trace-dir DIR or set PAGED_TRACES")
    require_writable(out)
    measured = load_measured_run(trace_dir)
    with published(out, owned=[RECORDING]) as directory:
        with tqdm(total=NUM_FIT_ROUNDS + 2, desc="replays", leave=False) as progress:
            affine = fit(measured, on_round=lambda _: progress.update())
            with ExitStack() as files:
                observers: list[Observer] = [
                    files.enter_context(chrome_trace(directory / "schedule.json.gz"))
                ]
                if is_recorded:
                    recording = recording_to(directory / RECORDING, model=recorded_shape(MODEL))
                    observers.append(files.enter_context(recording))
                simulated = replay(measured, affine, observers=observers)
            progress.update()
            roofline = replay(measured, RooflineStepTime(MODEL, GPU))
            progress.update()
        scores = {"affine": score(measured, simulated), "roofline": score(measured, roofline)}
        _write_csv(directory / "calibration.csv", measured, simulated)
        text = json.dumps(_describe(measured, affine, scores), indent=2)
        (directory / "calibration.json").write_text(text + "\n", encoding="utf-8")
        figure = draw_calibration(directory / "calibration.csv")
        (directory / "calibration.png").write_bytes(figure)
    print(_summary(measured, affine, scores))
    print(f"results: {out}")


def _write_csv(path: Path, measured: MeasuredRun, simulated: Replay) -> None:
    columns: dict[str, np.ndarray] = {
        "t_s": measured.tick_s,
        "is_fitted": np.arange(len(measured.tick_s)) < measured.num_fit_ticks,
    }
    for name in STATES:
        columns[f"{name}_measured"] = getattr(measured, name)
        columns[f"{name}_simulated"] = getattr(simulated, name)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for values in np.stack(list(columns.values()), axis=1).tolist():
            writer.writerow([f"{value:.6g}" for value in values])


def _describe(
    measured: MeasuredRun, affine: AffineStepTime, scores: dict[str, Score]
) -> dict[str, object]:
    ttft_s, latency_s = mean_times(measured)
    return {
        "experiment": "calibration",
        "config": {"cache": asdict(CACHE), "scheduler": asdict(SCHEDULER)},
        "model_shape": asdict(MODEL),
        "gpu_spec": asdict(GPU),
        "workload": {"source": measured.workload.source, "rows": measured.workload.accounting},
        "ticks": {"all": len(measured.tick_s), "fitted": measured.num_fit_ticks},
        "parameters": {"affine": asdict(affine)},
        "measured": {"mean_ttft_s": ttft_s, "mean_latency_s": latency_s},
        "scores": {name: asdict(one) for name, one in scores.items()},
        "bounds": {
            "running_mae": MAX_RUNNING_MAE,
            "kv_mae_points": MAX_KV_MAE_POINTS,
            "error_pct": MAX_ERROR_PCT,
        },
    }


def is_accepted(one: Score) -> bool:
    """Say whether a score keeps every bound."""
    return (
        one.running_mae <= MAX_RUNNING_MAE
        and one.kv_mae_points <= MAX_KV_MAE_POINTS
        and abs(one.ttft_error_pct) <= MAX_ERROR_PCT
        and abs(one.latency_error_pct) <= MAX_ERROR_PCT
    )


def _verdict(name: str, one: Score) -> str:
    if name == "roofline":
        return "not fitted: data sheet and default shares"
    return "ok" if is_accepted(one) else "OUT OF BOUNDS"


def _summary(measured: MeasuredRun, affine: AffineStepTime, scores: dict[str, Score]) -> str:
    ttft_s, latency_s = mean_times(measured)
    lines = [
        f"fitted to {measured.num_fit_ticks} of {len(measured.tick_s)} s:"
        f" step = {affine.base_s * 1e3:.2f} ms"
        f" + {affine.context_s_per_token * 1e6:.3f} us per context token (data sheet)"
        f" + {affine.scheduled_s_per_token * 1e6:.1f} us per computed token",
        f"{'':10}{'running MAE':>13}{'KV use MAE':>13}{'mean TTFT':>18}{'mean latency':>18}",
        f"{'measured':10}{'':26}{ttft_s:>9.1f} s{'':7}{latency_s:>9.1f} s",
    ]
    for name, one in scores.items():
        lines.append(
            f"{name:10}{one.running_mae:>13.2f}{one.kv_mae_points:>9.2f} pts"
            f"{one.mean_ttft_s:>9.1f} s {one.ttft_error_pct:+5.1f}%"
            f"{one.mean_latency_s:>9.1f} s {one.latency_error_pct:+5.1f}%"
            f"  {_verdict(name, one)}"
        )
    lines.append(
        f"{'bounds':10}{MAX_RUNNING_MAE:>13.2f}{MAX_KV_MAE_POINTS:>9.2f} pts"
        f"{'':12}{MAX_ERROR_PCT:5.1f}%{'':12}{MAX_ERROR_PCT:5.1f}%"
    )
    return "\n".join(lines)
