"""What is stored names the measurement and not the machine's owner."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bench import record
from bench.record import trim

RAW: dict[str, Any] = {
    "datetime": "2026-01-02T03:04:05+00:00",
    "machine_info": {
        "node": "secret-host",
        "machine": "x86_64",
        "system": "Linux",
        "processor": "",
        "python_version": "3.11.7",
        "cpu": {"brand_raw": "Some CPU", "count": 2},
    },
    "commit_info": {"id": "abc", "dirty": True, "branch": "main"},
    "peer_versions": {"vllm": "0.32.0"},
    "benchmarks": [
        {"name": "test_a", "extra_info": {"comparison": {"unit": "step"}}, "stats": {"data": [1]}},
        {"name": "test_b", "extra_info": {}},
    ],
}


def test_the_measurement_is_named() -> None:
    result = trim(RAW, load_average={"before": 0.1, "after": 1.0})
    assert result["git"] == {"id": "abc", "is_dirty": True}
    assert result["machine"]["cpu"] == "Some CPU"
    assert result["versions"]["python"] == "3.11.7"
    assert result["peer_versions"] == {"vllm": "0.32.0"}
    assert result["load_average_1min"] == {"before": 0.1, "after": 1.0}
    assert result["benchmarks"] == {"test_a": {"unit": "step"}}


def test_the_host_stays_unnamed() -> None:
    assert "secret-host" not in json.dumps(trim(RAW, load_average={}))


def test_an_unknown_cpu_falls_back_to_the_processor() -> None:
    machine = {**RAW["machine_info"], "processor": "x86", "cpu": {"count": 2}}
    result = trim({**RAW, "machine_info": machine}, load_average={})
    assert result["machine"]["cpu"] == "x86"


def test_versions_are_those_installed() -> None:
    versions = trim(RAW, load_average={})["versions"]
    assert {"numpy", "pytest-benchmark", "python"} <= set(versions)


def test_a_result_names_its_commit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, repository: Path
) -> None:
    monkeypatch.setattr(record, "RESULTS", tmp_path)
    date = {"date": "2026-01-02T03:04:05+00:00"}
    stored = json.loads(record.store({**date, "value": 1}, "one").read_text())
    command = ["git", "-C", str(repository), "rev-parse", "HEAD"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert stored["git"]["id"] == (ran.stdout.strip() or None)
    own = {"id": "abc", "is_dirty": True}
    assert json.loads(record.store({**date, "git": own}, "two").read_text())["git"] == own
    undated = json.loads(record.store({"git": own}, "now").read_text())
    assert set(undated) == {"date", "machine", "git"}
    monkeypatch.setenv("PATH", str(tmp_path))
    without = json.loads(record.store(date, "three").read_text())
    assert without["git"] == {"id": None, "is_dirty": None}


def test_some_benchmarks_are_stored_under_a_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ran: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[bytes]:
        ran.append(command[3:-1])
        Path(command[-1].partition("=")[2]).write_text(json.dumps(RAW))
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(record.subprocess, "run", run)
    monkeypatch.setattr(record, "ROOT", tmp_path)
    monkeypatch.setattr(record, "RESULTS", tmp_path / "results")
    assert record.main(["--name", "kernels-cpu", "bench/test_kernels.py"]) == 0
    assert record.main([]) == 0
    assert ran == [["bench/test_kernels.py"], ["bench"]]
    stored = sorted(path.name for path in (tmp_path / "results").iterdir())
    assert stored == ["2026-01-02-kernels-cpu.json", "2026-01-02-scheduler-cpu.json"]
