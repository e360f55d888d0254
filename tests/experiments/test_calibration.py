"""Simulated time follows the real vLLM run within the accepted bounds."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import pytest

from experiments import calibration_run
from experiments.calibration import main
from experiments.command import BAD_INPUT, INTERRUPTED


def test_the_calibration_keeps_its_bounds(
    traces_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["--trace-dir", str(traces_dir), "--out", str(out)]) == 0
    content = json.loads((out / "calibration.json").read_text())
    one, measured = content["scores"]["affine"], content["measured"]
    assert one["running_mae"] <= 3.0
    assert one["kv_mae_points"] <= 3.0
    assert abs(one["mean_ttft_s"] / measured["mean_ttft_s"] - 1) <= 0.05
    assert abs(one["mean_latency_s"] / measured["mean_latency_s"] - 1) <= 0.05
    assert content["ticks"] == {"all": 184, "fitted": 92}
    # 16.1 GB of weights take 15.9 ms at the peak bandwidth of the GPU: no step is shorter.
    assert 0.0159 <= content["parameters"]["affine"]["base_s"] <= 0.019
    with (out / "calibration.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 184
    assert sum(float(row["new_tokens_simulated"]) for row in rows) == 195_753
    assert (out / "calibration.png").read_bytes().startswith(b"\x89PNG")
    schedule = json.loads(gzip.decompress((out / "schedule.json.gz").read_bytes()))
    spans = [one for one in schedule["traceEvents"] if one["ph"] == "X"]
    # every request of the recorded run, and a schedule as long as the simulated one
    assert len({one["tid"] for one in spans if one["pid"] == 2}) == 300
    end_s = max(one["ts"] + one["dur"] for one in spans) / 1e6
    assert end_s == pytest.approx(float(rows[-1]["t_s"]), rel=0.05)
    printed = capsys.readouterr().out
    assert "OUT OF BOUNDS" not in printed
    assert "not fitted" in printed


@pytest.mark.parametrize("folder", [None, ""])
def test_without_traces_one_line_says_what_to_do(
    folder: str | None,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("PAGED_TRACES", raising=False)
    if folder is not None:
        monkeypatch.setenv("PAGED_TRACES", folder)
    monkeypatch.chdir(tmp_path)
    assert main([]) == BAD_INPUT
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "--trace-dir DIR or set PAGED_TRACES" in error
    assert not list(tmp_path.iterdir())


def test_a_folder_without_the_run_is_refused_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["--trace-dir", str(tmp_path), "--out", str(tmp_path / "out")])
    assert status == BAD_INPUT
    assert "sharegpt_multiturn_300_blk16" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--nonsense"], "unrecognized arguments: --nonsense"),
        (["more"], "unrecognized arguments: more"),
        (["--out"], "--out: expected one argument"),
        (["--out", ""], "--out: expected a path, got ''"),
        (["--trace-dir", "a\0b"], r"--trace-dir: expected a path, got 'a\x00b'"),
        (["--trace-dir", ".", "--out", "a" * 300], "cannot write results to"),
    ],
)
def test_bad_flags_are_one_line_and_status_2(
    flags: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(flags) == BAD_INPUT
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert message in error
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("raised", "answer"),
    [
        (KeyboardInterrupt(), (INTERRUPTED, "interrupted: nothing was written\n")),
        (OSError(28, "disk full"), (BAD_INPUT, "error: [Errno 28] disk full\n")),
    ],
)
def test_a_run_that_is_stopped_says_so_in_one_line(
    raised: BaseException,
    answer: tuple[int, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def stop(*_: object) -> None:
        raise raised

    monkeypatch.setattr(calibration_run, "load_measured_run", stop)
    status = main(["--trace-dir", str(tmp_path), "--out", str(tmp_path / "out")])
    assert (status, capsys.readouterr().err) == answer
    assert not list(tmp_path.iterdir())
