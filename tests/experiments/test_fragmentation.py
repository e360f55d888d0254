"""The main job from the command line: files, equal bytes, refusals."""

from __future__ import annotations

import csv
import gzip
import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from experiments.command import INTERRUPTED
from experiments.fragmentation import main

SMALL = ["--num-requests", "60", "--seeds", "2", "--allocators", "reserved-oracle,paged", "--quick"]
COLUMNS = (
    "workload,allocator,block_size,seed,capacity_slots,token_pct,reserved_pct,internal_pct,"
    "rounding_pct,cached_free_pct,free_pct,mean_batch,preemptions_per_completion,"
    "waiting_share_pct"
)
CLASSES = COLUMNS.split(",")[5:11]
CSV_FILES = ("fragmentation", "block_size", "watermark", "timeseries", "holes")


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One small run in two processes."""
    out = tmp_path_factory.mktemp("small") / "out"
    assert main([*SMALL, "--jobs", "2", "--out", str(out)]) == 0
    return out


def test_rows_are_one_per_allocator_and_seed(results):
    lines = (results / "fragmentation.csv").read_text().splitlines()
    assert lines[0].startswith(COLUMNS)
    rows = read(results / "fragmentation.csv")
    assert [(row["allocator"], row["seed"]) for row in rows] == [
        ("reserved-oracle", "0"),
        ("reserved-oracle", "1"),
        ("paged", "0"),
        ("paged", "1"),
    ]
    assert {row["workload"] for row in rows} == {"sharegpt-like"}
    assert {row["capacity_slots"] for row in rows} == {"15728"}


def test_shares_sum_to_100_in_every_file(results):
    for name in ("fragmentation", "block_size", "watermark"):
        for row in read(results / f"{name}.csv"):
            assert sum(float(row[column]) for column in CLASSES) == pytest.approx(100, abs=1e-9)
    for row in read(results / "timeseries.csv"):
        assert sum(float(row[column]) for column in CLASSES) == pytest.approx(100, abs=1e-5)


def test_sweeps_meet_the_headline_where_the_setting_is_the_same(results):
    headline = read(results / "fragmentation.csv")[2:]
    assert [
        row for row in read(results / "block_size.csv") if row["block_size"] == "16"
    ] == headline
    watermarks = read(results / "watermark.csv")
    assert [row for row in watermarks if row["watermark"] == "0.010000"] == headline
    assert {row["watermark"] for row in watermarks} == {"0.010000", "0.100000"}


def test_curves_are_thinned_and_of_one_seed(results):
    rows = read(results / "timeseries.csv")
    assert {row["seed"] for row in rows} == {"0"}
    for name in ("reserved-oracle", "paged"):
        times = [float(row["t_s"]) for row in rows if row["allocator"] == name]
        assert len(times) <= 2_000
        assert times == sorted(times)


def test_one_seed_gives_the_same_bytes_in_one_process(results, tmp_path):
    assert main([*SMALL, "--jobs", "1", "--out", str(tmp_path)]) == 0
    for name in CSV_FILES:
        file = f"{name}.csv"
        assert (tmp_path / file).read_bytes() == (results / file).read_bytes(), file


def test_another_seed_gives_another_result(results, tmp_path):
    assert main([*SMALL, "--seed", "7", "--no-ablations", "--out", str(tmp_path)]) == 0
    rows = read(tmp_path / "fragmentation.csv")
    assert [row["seed"] for row in rows] == ["7", "8", "7", "8"]
    assert rows[0]["token_pct"] != read(results / "fragmentation.csv")[0]["token_pct"]


def test_figures_page_and_settings_lie_beside_the_numbers(results):
    names = {path.name for path in results.iterdir()}
    assert {"report.html", "run.json", *(f"{name}.csv" for name in CSV_FILES)} <= names
    assert sum(name.endswith(".png") for name in names) == 6
    assert [path.name for path in results.parent.iterdir()] == ["out"]


def test_schedules_come_on_demand_and_a_folder_never_mixes_two_runs(results, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(results, out)
    (out / "schedule_virtual.json.gz").write_text("of an earlier run")
    (out / "schedule_mine.json.gz").write_text("kept")
    flags = ["--chrome-trace", "--seeds", "1", "--no-ablations", "--jobs", "2", "--out", str(out)]
    assert main([*SMALL, *flags]) == 0

    before = {path.name for path in results.iterdir()}
    schedules = {"schedule_reserved-oracle.json.gz", "schedule_paged.json.gz"}
    sweeps = {"f5_block_size.png", "f13_watermark.png"}
    assert sweeps < before
    assert not any(name.startswith("schedule") for name in before)
    expected = before - sweeps | schedules | {"schedule_mine.json.gz"}
    assert {path.name for path in out.iterdir()} == expected
    assert (out / "schedule_mine.json.gz").read_text() == "kept"
    rows = read(out / "fragmentation.csv")
    assert rows == [row for row in read(results / "fragmentation.csv") if row["seed"] == "0"]
    for schedule in schedules:
        events = json.loads(gzip.decompress((out / schedule).read_bytes()))["traceEvents"]
        last = [one for one in events if one["name"] == "requests"][-1]
        assert last["args"] == {"running": 0, "waiting": 0, "swapped": 0}
        assert last["ts"] == max(one["ts"] + one["dur"] for one in events if one["ph"] == "X")


def test_a_trace_reconciles_and_prints_json(tmp_path, capsys):
    trace = tmp_path / "tiny.csv"
    lines = ["num_prefill_tokens,num_decode_tokens", *("120,30",) * 20, "50,0", "4000,90"]
    trace.write_text("\n".join(lines))
    flags = ["--trace", str(trace), "--kv-slots", "1024", "--max-model-len", "512", "--jobs", "1"]
    out = tmp_path / "out"
    assert (
        main([*flags, "--allocators", "paged", "--no-ablations", "--json", "--out", str(out)]) == 0
    )
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["workload"], row["allocator"], row["capacity_slots"]) == ("tiny", "paged", 1024)
    workload = json.loads((out / "run.json").read_text())["workload"]
    assert workload["rows_read"] == 22
    assert workload["rows_kept"] == 20
    assert sorted(workload["rows_dropped"].values()) == [1, 1]


def azure(path: Path, *rows: str) -> None:
    path.write_text("\n".join(["TIMESTAMP,ContextTokens,GeneratedTokens", *rows]))


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--trace", "nowhere.csv"], "nowhere.csv"),
        (["--trace", "columns.csv"], "columns.csv: expected the columns of a trace"),
        (["--trace", "negative.csv"], "negative.csv:2"),
        (["--trace", "nan.csv"], "nan.csv:2"),
        (["--trace", "empty.csv"], "empty.csv"),
        (["--kv-slots", "2000"], "pool of 2000 slots is smaller than one request"),
        (["--allocators", "paged,slab"], "unknown allocator 'slab'"),
        (["--model", "gpt-9"], "unknown model 'gpt-9'"),
        (["--gpu", "abacus"], "unknown GPU 'abacus'"),
        (["--block-size", "many"], "--block-size"),
        (["--rate", "3"], "--rate and --arrivals poisson go together"),
        (["--trace", "good.csv", "--workload", "alpaca-like"], "one source of requests"),
        (["--trace", "untimed.csv", "--arrivals", "trace"], "records no timestamps"),
        (["--out", "good.csv"], "good.csv is not a writable folder"),
        (["--nonsense"], "unrecognized arguments: --nonsense"),
    ],
)
def test_bad_input_is_one_line_and_status_2(flags, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "columns.csv").write_text("a,b\n1,2\n")
    azure(tmp_path / "negative.csv", "2023-11-16 18:15:46.6805900,374,-44")
    azure(tmp_path / "nan.csv", "2023-11-16 18:15:46.6805900,nan,44")
    azure(tmp_path / "good.csv", "2023-11-16 18:15:46.6805900,374,44")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "untimed.csv").write_text("num_prefill_tokens,num_decode_tokens\n374,44\n")
    before = sorted(tmp_path.rglob("*"))
    assert main(["--jobs", "1", *flags]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    assert message in captured.err
    assert captured.out == ""
    assert sorted(tmp_path.rglob("*")) == before


def test_the_process_exits_with_status_2():
    done = subprocess.run(
        [sys.executable, "-m", "experiments.fragmentation", "--trace", "nowhere.csv"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: nowhere.csv")
    assert done.stderr.count("\n") == 1


def ended(out: Path, sent: signal.Signals, *, is_started: Callable[[], bool]) -> str:
    """Send a signal to a run in two processes once it has started; return its stderr."""
    command = [sys.executable, "-m", "experiments.fragmentation", "--jobs", "2", "--out", str(out)]
    with subprocess.Popen(
        command,
        cwd=Path(__file__).parents[2],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        while process.poll() is None and not is_started():
            time.sleep(0.05)
        process.send_signal(sent)
        # Its workers hold the same pipe: this returns when the last of them is gone.
        _, error = process.communicate(timeout=20)
    assert process.returncode == (INTERRUPTED if sent is not signal.SIGKILL else -sent)
    return error


def test_a_killed_process_leaves_nothing(tmp_path):
    def has_written() -> bool:
        return bool(list(tmp_path.iterdir()))

    error = ended(tmp_path / "deep" / "out", signal.SIGTERM, is_started=has_written)
    assert error.endswith("interrupted: nothing was written\n")
    assert "Traceback" not in error
    assert list(tmp_path.iterdir()) == []


def test_workers_end_with_a_parent_that_had_no_chance_to_stop_them(tmp_path):
    def has_written() -> bool:
        if not list(tmp_path.iterdir()):
            return False
        time.sleep(3.0)  # its workers have started
        return True

    ended(tmp_path / "out", signal.SIGKILL, is_started=has_written)


INTERRUPTED_IMPORT = """
import os, signal, sys

class Interrupter:
    def find_spec(self, name, path=None, target=None):
        if name == "experiments.fragmentation_run":
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs of a shell may be told to ignore it
sys.meta_path.insert(0, Interrupter())
from experiments.command import start
from experiments.fragmentation import main
start(main)
"""


def test_an_interrupt_while_modules_load_is_no_traceback(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IMPORT, "--out", str(tmp_path)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == INTERRUPTED
    assert done.stderr == "interrupted: nothing was written\n"
