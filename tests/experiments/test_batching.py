"""`python -m experiments.batching` from flags to files, on the tiny model."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from experiments.batching import main
from experiments.command import BAD_INPUT

FLAGS = ("--model", "tiny", "--quick", "--num-requests", "8", "--kv-slots", "1024")


def test_a_quick_run_writes_every_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main([*FLAGS, "--rounds", "2", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    with (out / "batching.csv").open() as file:
        rows = {row["allocator"]: row for row in csv.DictReader(file)}
    assert list(rows) == ["paged", "reserved-max", "reserved-pow2", "static"]
    assert all(name in printed for name in rows)
    for row in rows.values():
        parts = [float(row[f"{name}_pct"]) for name in ("work", "padding", "idle", "no_model")]
        assert sum(parts) == pytest.approx(100.0, abs=1e-4)
        assert row["padding_pct"] == "0.000000"
        assert (float(row["idle_pct"]) > 0) == (row["batching"] == "static")
    # two reservations of 512 fill the pool, blocks on demand hold more
    assert float(rows["reserved-max"]["mean_batch"]) <= 2 < float(rows["paged"]["mean_batch"])
    assert int(rows["static"]["num_steps"]) > int(rows["reserved-max"]["num_steps"])
    assert [int(row["first_scored_step"]) > 0 for row in rows.values()] == [False] * 3 + [True]
    run = json.loads((out / "run.json").read_text())
    with (out / "steps.csv").open() as file:
        steps = list(csv.DictReader(file))
    for name in rows:
        drawn = sum(float(step["new_tokens"]) for step in steps if step["allocator"] == name)
        assert drawn == run["workload"]["tokens_drawn"]["0"]
    assert all(len(times) == 2 for times in run["run_s"].values())
    assert (out / "batching.png").read_bytes().startswith(b"\x89PNG")
    assert 'src="data:image/png;base64,' in (out / "report.html").read_text()


def test_json_prints_the_rows_and_no_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    flags = (*FLAGS, "--allocators", "paged", "--fit", "paged", "--json", "--out", str(out))
    assert main(flags) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["allocator"] == "paged"
    assert row["predicted_tokens_per_s"] > 0


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--max-model-len", "256"], "--max-model-len must be from 512"),
        (["--kv-slots", "256"], "to --kv-slots, 256; got 512"),
        (["--allocators", "none"], "unknown allocator 'none'"),
        (["--model", "/absent"], "/absent"),
        (["--nonsense"], "unrecognized arguments: --nonsense"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    flags: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*FLAGS, "--out", str(tmp_path / "out"), *flags]) == BAD_INPUT
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert message in error
    assert not list(tmp_path.iterdir())
