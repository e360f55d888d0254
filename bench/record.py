"""Run all benchmarks and store what they measured in bench/results.

    python -m bench.record [--name scheduler-cpu] [bench/test_blocks.py ...]

Writes bench/results/<date>-<name>.json: versions, CPU, git id, load of the machine, and
for every benchmark the raw numbers and ratios. Exit status: that of pytest.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PACKAGES = ("numpy", "pytest-benchmark", "torch", "cupy-cuda12x", "cupy-cuda13x")
ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "results"


def trim(raw: Mapping[str, Any], *, load_average: Mapping[str, float]) -> dict[str, Any]:
    """Keep of pytest-benchmark's file what names the measurement and the comparisons.

    Drops the host's name and the single rounds. Benchmarks without comparison are dropped.
    """
    machine, commit = raw["machine_info"], raw["commit_info"]
    comparisons = {
        each["name"]: each["extra_info"]["comparison"]
        for each in raw["benchmarks"]
        if "comparison" in each["extra_info"]
    }
    return {
        "date": raw["datetime"],
        "git": {"id": commit["id"], "is_dirty": commit["dirty"]},
        "machine": {
            "cpu": machine["cpu"].get("brand_raw", machine["processor"]),
            "num_cpus": machine["cpu"]["count"],
            "architecture": machine["machine"],
            "system": machine["system"],
        },
        "load_average_1min": dict(load_average),
        "versions": {
            "python": machine["python_version"],
            **{name: version for name in PACKAGES if (version := _version(name)) is not None},
        },
        "peer_versions": raw["peer_versions"],
        "benchmarks": comparisons,
    }


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def store(result: Mapping[str, Any], name: str) -> Path:
    """Write a result under its date and a name; return the file.

    Date, commit and machine are those of now and here where it names none.
    """
    if "git" not in result:
        result = {"git": _commit(), **result}
    here = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": {"architecture": platform.machine(), "num_cpus": os.cpu_count()},
    }
    named = {**here, **result}
    target = RESULTS / f"{named['date'][:10]}-{name}.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(named, indent=1) + "\n")
    return target


def _commit() -> dict[str, Any]:
    """Return the commit of the tree as pytest-benchmark does; None where git tells none."""

    def git(*arguments: str) -> str | None:
        if shutil.which("git") is None:
            return None
        command = ["git", "-C", str(ROOT), *arguments]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        return ran.stdout.strip() if ran.returncode == 0 else None

    changes = git("status", "--porcelain", "--untracked-files=no")
    return {"id": git("rev-parse", "HEAD"), "is_dirty": None if changes is None else bool(changes)}


def main(arguments: list[str] | None = None) -> int:
    """Run, trim, store; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.record", description=__doc__)
    parser.add_argument("--name", default="scheduler-cpu", help="last part of the file's name")
    parser.add_argument("files", nargs="*", default=["bench"], help="benchmarks; all by default")
    options = parser.parse_args(arguments)
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        raw_file = Path(folder) / "raw.json"
        command = [sys.executable, "-m", "pytest", *options.files, f"--benchmark-json={raw_file}"]
        status = subprocess.run(command, cwd=ROOT, check=False).returncode
        if status:
            return status
        raw = json.loads(raw_file.read_text())
    result = trim(raw, load_average={"before": before, "after": os.getloadavg()[0]})
    print(f"wrote {store(result, options.name).relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
