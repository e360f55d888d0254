"""Tests and benchmarks on a machine with a GPU, within a time limit and without any install.

    PYTHONPATH=. python3 -m bench.gpu --out DIR [--limit-s 330]

Needs a Python with torch and CuPy. Every step is a process of its own, so that one that fails or
hangs costs only itself. Results lie in DIR as soon as they are measured: a log of each step,
kernels.json, and roofline.png where matplotlib is installed.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from paged.kernel.registry import OP_NAMES

ROOT = Path(__file__).resolve().parents[1]

BENCH_GROUPS = {
    "cache": tuple(op for op in OP_NAMES if op != "attention"),
    "attention": ("attention",),
}
"""Operations that are timed by one process: starting one takes seconds."""

_PAGED = ("-m", "paged.cli.main", "kernels")
_GPU_MARK = "mark.gpu"
_PYTEST_RAN = (0, 1)  # all passed, some failed; anything else says that it could not run them
_LEAST_STEP_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One process to run.

    Attributes:
        arguments: of this Python.
        share: how much of the whole time limit it may take.

    """

    name: str
    arguments: tuple[str, ...]
    share: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a step ended.

    status: exit status; None where it was stopped at its limit, or had no time left to begin.
    """

    name: str
    status: int | None
    wall_s: float

    @property
    def text(self) -> str:
        """One line about it."""
        if self.status is not None:
            ended = "ok" if self.status == 0 else f"failed with status {self.status}"
        else:
            ended = "stopped: out of time" if self.wall_s else "left out: out of time"
        return f"{self.name:<16} {ended} ({self.wall_s:.0f} s)"


def gpu_tests() -> list[str]:
    """Return the test files with tests for a GPU, relative to the checkout."""
    found = sorted((ROOT / "tests").rglob("test_*.py"))
    return [str(p.relative_to(ROOT)) for p in found if _GPU_MARK in p.read_text()]


def test_step() -> Step | None:
    """Return the run of the tests marked `gpu`; None where pytest is not installed."""
    if find_spec("pytest") is None:
        return None
    # careful: other versions of torch and CuPy warn of other things, and warnings are errors
    options = ("-m", "pytest", "-q", "-m", "gpu", "-W", "default", "-p", "no:cacheprovider")
    return Step(name="tests", arguments=(*options, *gpu_tests()), share=0.4)


def problem_steps(device: str) -> list[Step]:
    """Return runs of every kernel on its operation's problems, against the reference."""
    return [
        Step(
            name=f"run-{op}",
            arguments=(*_PAGED, "run", op, "--device", device, "--orders", "natural"),
            share=0.25 if op == "attention" else 0.05,
        )
        for op in OP_NAMES
    ]


def bench_steps(device: str, out: Path) -> list[Step]:
    """Return the benchmarks; attention's come last, for they take what time is left."""
    return [
        Step(
            name=f"bench-{group}",
            arguments=(*_PAGED, "bench", *names, "--device", device, "--json", str(file)),
            share=1.0 if group == "attention" else 0.2,
        )
        for group, names in BENCH_GROUPS.items()
        for file in [out / f"{group}.json"]
    ]


@dataclass(slots=True, kw_only=True)
class Session:
    """Runs steps one after another while there is time."""

    out: Path
    limit_s: float
    clock: Callable[[], float] = time.monotonic
    begin_s: float = 0.0

    def __post_init__(self) -> None:
        self.begin_s = self.clock()

    @property
    def left_s(self) -> float:
        """Time left."""
        return self.limit_s - (self.clock() - self.begin_s)

    def run(self, step: Step) -> Outcome:
        """Run a step in a process group of its own, which is ended where its time is over.

        Writes DIR/<name>.log, and prints it.
        """
        step_s = min(step.share * self.limit_s, self.left_s)
        if step_s < _LEAST_STEP_S:
            return Outcome(name=step.name, status=None, wall_s=0.0)
        begin_s = self.clock()
        log = self.out / f"{step.name}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, *step.arguments],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                status = process.wait(timeout=step_s)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                status = None
        print(log.read_text(errors="replace"), flush=True)
        return Outcome(name=step.name, status=status, wall_s=self.clock() - begin_s)


def outcomes_of(session: Session, device: str) -> Iterator[Outcome]:
    """Run everything: tests, or problems where those cannot be run, then benchmarks."""
    tests = test_step() if device == "cuda" else None
    tested = None if tests is None else session.run(tests)
    if tested is not None:
        yield tested
    if tested is None or tested.status not in (*_PYTEST_RAN, None):
        yield from map(session.run, problem_steps(device))
    yield from map(session.run, bench_steps(device, session.out))


def merge(out: Path, outcomes: list[Outcome]) -> Path:
    """Write kernels.json: all results so far, and how the steps ended."""
    documents: list[dict[str, Any]] = [
        json.loads(path.read_text())
        for path in (out / f"{group}.json" for group in BENCH_GROUPS)
        if path.is_file()
    ]
    whole = {
        **(documents[0] if documents else {}),
        "results": [row for document in documents for row in document["results"]],
        "steps": [{"name": o.name, "status": o.status, "wall_s": o.wall_s} for o in outcomes],
    }
    target = out / "kernels.json"
    target.write_text(json.dumps(whole, indent=1) + "\n")
    return target


def main(arguments: list[str] | None = None) -> int:
    """Run all steps; return 0 if every one of them ended well."""
    parser = argparse.ArgumentParser(prog="python -m bench.gpu", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for logs and results")
    parser.add_argument("--limit-s", type=float, default=330.0, help="whole time, in seconds")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    options = parser.parse_args(arguments)
    out: Path = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    session = Session(out=out, limit_s=options.limit_s)
    outcomes: list[Outcome] = []
    for outcome in outcomes_of(session, options.device):
        outcomes.append(outcome)
        print(outcome.text, flush=True)
        results = merge(out, outcomes)
        if outcome.name.startswith("bench-"):
            drawing = ("-m", "bench.roofline", str(results), "--out", str(out / "roofline.png"))
            print(session.run(Step(name="roofline", arguments=drawing, share=0.1)).text)
    print("\n".join(["", *(outcome.text for outcome in outcomes)]))
    return 0 if all(outcome.status == 0 for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
