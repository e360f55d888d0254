"""The script for a machine with a GPU: each step by itself, results kept, time never exceeded."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from bench import gpu
from bench.gpu import Outcome, Session, Step, bench_steps, merge, outcomes_of, problem_steps
from paged.kernel.registry import OP_NAMES


def step(name: str, program: str, share: float = 1.0) -> Step:
    return Step(name=name, arguments=("-c", program), share=share)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(out=tmp_path, limit_s=300.0)


def test_a_step_leaves_a_log(session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = session.run(step("hello", "print('good day')"))
    assert (outcome.name, outcome.status) == ("hello", 0)
    assert (session.out / "hello.log").read_text() == "good day\n"
    assert capsys.readouterr().out.startswith("good day")


def test_a_step_that_fails_says_so(session: Session) -> None:
    outcome = session.run(step("bad", "raise SystemExit(3)"))
    assert outcome.status == 3
    assert outcome.text.startswith("bad              failed with status 3 (")


def test_a_step_is_stopped_with_all_its_processes(session: Session, tmp_path: Path) -> None:
    child = "import time, pathlib; time.sleep(8); pathlib.Path('late').touch()"
    program = (
        f"import os, subprocess, sys, time; os.chdir({str(tmp_path)!r}); "
        f"subprocess.Popen([sys.executable, '-c', {child!r}]); "
        "print('begun', flush=True); time.sleep(60)"
    )
    begin_s = time.monotonic()
    outcome = session.run(step("endless", program, share=5.5 / 300))
    assert outcome.status is None
    assert "stopped: out of time" in outcome.text
    assert (session.out / "endless.log").read_text() == "begun\n"
    time.sleep(max(0.0, 10 - (time.monotonic() - begin_s)))
    assert not (tmp_path / "late").exists()


def test_without_time_a_step_is_left_out(tmp_path: Path) -> None:
    now = iter([0.0, 297.0])
    session = Session(out=tmp_path, limit_s=300.0, clock=lambda: next(now))
    outcome = session.run(step("late", "print('never')"))
    assert "left out: out of time" in outcome.text
    assert not (tmp_path / "late.log").exists()


class Recorder(Session):
    """Runs nothing: a step ends with the status that is prepared for it."""

    statuses: dict[str, int | None]

    def run(self, step: Step) -> Outcome:
        return Outcome(name=step.name, status=self.statuses.get(step.name, 0), wall_s=1.0)


def names(tmp_path: Path, statuses: dict[str, int | None], device: str = "cuda") -> list[str]:
    recorder = Recorder(out=tmp_path, limit_s=300.0)
    recorder.statuses = statuses
    return [outcome.name for outcome in outcomes_of(recorder, device)]


BENCHES = ["bench-cache", "bench-attention"]
PROBLEMS = [f"run-{op}" for op in OP_NAMES]


@pytest.mark.parametrize("status", [0, 1, None])
def test_tests_that_ran_replace_the_problems(tmp_path: Path, status: int | None) -> None:
    assert names(tmp_path, {"tests": status}) == ["tests", *BENCHES]


@pytest.mark.parametrize("status", [2, 3, 4, 5])
def test_where_pytest_cannot_run_them_problems_are_tried(tmp_path: Path, status: int) -> None:
    assert names(tmp_path, {"tests": status})[: 1 + len(PROBLEMS)] == ["tests", *PROBLEMS]


def test_without_pytest_problems_are_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "find_spec", lambda _: None)
    found = names(tmp_path, {})
    assert found == [*PROBLEMS, *BENCHES]


def test_a_failure_does_not_end_the_others(tmp_path: Path) -> None:
    assert names(tmp_path, dict.fromkeys(BENCHES, 1), "cpu") == [*PROBLEMS, *BENCHES]


def test_attention_takes_the_time_that_is_left(tmp_path: Path) -> None:
    cache, last = bench_steps("cuda", tmp_path)
    assert {"attention", *cache.arguments} >= set(OP_NAMES)
    assert last.name == "bench-attention"
    assert last.share == 1.0
    assert last.arguments[-2:] == ("--json", str(tmp_path / "attention.json"))
    assert all("cuda" in step.arguments for step in problem_steps("cuda"))


def test_only_files_with_gpu_tests_are_collected(repository: Path) -> None:
    files = gpu.gpu_tests()
    assert files
    assert all("mark.gpu" in (repository / name).read_text() for name in files)


def document(op: str) -> dict[str, Any]:
    return {"date": "today", "hardware": {"name": "a GPU"}, "results": [{"op": op}]}


def test_results_so_far_are_merged(tmp_path: Path) -> None:
    for group in ("attention", "cache"):
        (tmp_path / f"{group}.json").write_text(json.dumps(document(group)))
    whole = json.loads(merge(tmp_path, [Outcome(name="a", status=None, wall_s=0.5)]).read_text())
    assert [row["op"] for row in whole["results"]] == ["cache", "attention"]
    assert whole["hardware"] == {"name": "a GPU"}
    assert whole["steps"] == [{"name": "a", "status": None, "wall_s": 0.5}]


def test_nothing_measured_is_stored_as_nothing(tmp_path: Path) -> None:
    assert json.loads(merge(tmp_path, []).read_text()) == {"results": [], "steps": []}


@pytest.mark.parametrize(("status", "returned"), [(0, 0), (1, 1), (None, 1)])
def test_the_status_is_that_of_all_steps(
    status: int | None,
    returned: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run(_: Session, step: Step) -> Outcome:
        last = step.name == "bench-attention"
        return Outcome(name=step.name, status=status if last else 0, wall_s=1.0)

    monkeypatch.setattr(Session, "run", run)
    folder = tmp_path / "new" / "folder"
    assert gpu.main(["--device", "cpu", "--out", str(folder)]) == returned
    assert (folder / "kernels.json").is_file()
    assert "bench-attention  " in capsys.readouterr().out
