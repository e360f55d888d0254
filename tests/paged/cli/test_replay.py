"""`paged replay`: what it prints, and its exit status."""

from __future__ import annotations

import json
from argparse import ArgumentTypeError
from pathlib import Path

import pytest

from experiments import fragmentation
from paged.cli.main import main
from paged.cli.replay import span
from paged.kernel.registry import find_op
from paged.kernel.variant import shipped_variants
from tests.helpers.recorded_runs import (
    random_requests,
    record,
    record_grouped,
    recorded_batches,
)

SMALL = ["--head-dim", "16", "--group-size", "2", "--dtype", "float32", "--kv-dtype", "float32"]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Return a recording of a few dozen steps."""
    record(tmp_path / "run", random_requests(4, 8))
    return tmp_path / "run"


def replay(run: Path, *arguments: str) -> int:
    return main(["replay", str(run), *SMALL, *arguments])


def test_without_a_kernel_it_tells_what_was_recorded(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert replay(run) == 0
    out = capsys.readouterr().out
    assert "steps of a model it does not name: allocator paged, 24 blocks of 4" in out


def test_a_kernel_is_compared_and_timed(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "steps.json"
    options = ["--kernel", "attention=host", "--against", "reference", "--bench", "--count"]
    assert replay(run, *options, "--steps", "2:20", "--every", "6", "--json", str(file)) == 0
    out = capsys.readouterr().out
    assert "3 of them, one in 6; 2 heads over 1 of keys, of 16, float32 on float32" in out
    assert "attention=host: right in all 3 calls" in out
    assert "largest difference to reference" in out
    assert "times as long" in out
    assert "no measure of a GPU" in out
    assert "least bytes" not in out  # of a CUDA kernel alone they are counted
    assert [row["step"] for row in json.loads(file.read_text())] == [2, 8, 14]


def test_a_wrong_kernel_gives_status_1(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shipped_variants(find_op("attention"))["v0"].read_text()
    wrong = tmp_path / "wrong.cu"
    assert "p.scale" in text
    wrong.write_text(text.replace("p.scale", "(2.0f * p.scale)"))
    assert replay(run, "--kernel", f"attention={wrong}", "--steps", "3:4") == 1
    out = capsys.readouterr().out
    assert "attention=wrong.cu: wrong in 1 of 1 calls" in out
    assert "WRONG  step 3: " in out


def test_a_sanitized_kernel_is_judged_by_its_accesses(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shipped_variants(find_op("attention"))["v0"].read_text()
    racy = tmp_path / "racy.cu"
    racy.write_text(text.replace("__syncwarp();", "", 1))
    options = ["--steps", "3:4", "--sanitize"]
    assert replay(run, "--kernel", "attention=v0", *options) == 0
    assert replay(run, "--kernel", f"attention={racy}", *options) == 1
    out = capsys.readouterr().out
    assert "attention=v0: right in all 1 calls" in out
    assert "attention=racy.cu: wrong in 1 of 1 calls" in out
    assert "racy.cu:" in out.partition("WRONG")[2]


@pytest.mark.parametrize("op", ["write_kv", "rope_write_kv", "gather_kv", "swap_blocks"])
def test_any_operation_is_sanitized_and_timed(
    op: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = record_grouped(tmp_path / "run")
    kernel = ["--kernel", f"{op}=vector", "--every", "9"]
    assert replay(run, *kernel, "--sanitize") == 0
    assert replay(run, *kernel, "--against", "simple", "--bench", "--rounds", "1") == 0
    out = capsys.readouterr().out
    assert out.count(f"{op}=vector: right in all ") == 2
    assert "times as long" in out


def test_steps_that_move_blocks_are_chosen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = record_grouped(tmp_path / "run")
    file = tmp_path / "calls.json"
    options = ["--kernel", "copy_blocks=host", "--num-layers", "3", "--json", str(file)]
    assert replay(run, *options) == 0
    rows = json.loads(file.read_text())
    copying = [batch.step for batch in recorded_batches(run) if len(batch.copies)]
    assert {row["step"] for row in rows} <= set(copying)
    out = capsys.readouterr().out
    assert f"of the {len(copying)} that move blocks for it" in out
    assert "3 layers of 1 heads of 16, float32" in out


def test_a_racy_write_is_found(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    racy = changed_write_kv(tmp_path, "p.kv_pool[to + d]", "p.kv_pool[to]")
    assert replay(run, "--kernel", f"write_kv={racy}", "--steps", "3:4", "--sanitize") == 1
    out = capsys.readouterr().out
    assert "WRONG  step 3: " in out
    assert "race" in out


def changed_write_kv(folder: Path, text: str, by: str) -> Path:
    """Write the simple kernel with a change; return its file."""
    code = shipped_variants(find_op("write_kv"))["simple"].read_text()
    assert text in code
    file = folder / "wrong.cu"
    file.write_text(code.replace(text, by))
    return file


def test_a_write_that_small_problems_pass_is_wrong_on_the_azure_hour(
    traces_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    options = ["--allocators", "paged", "--arrivals", "trace", "--num-requests", "40", "--record"]
    options += ["--max-num-batched-tokens", "512", "--no-ablations", "--jobs", "1"]
    trace = str(traces_dir / "azure_2023_conv.csv.gz")
    assert fragmentation.main(["--trace", trace, *options, "--out", str(out)]) == 0
    # as one that holds the slots of a step in a table too short for a prompt
    end = "if (index < 0 || "
    wrong = changed_write_kv(tmp_path, end, f"{end}token >= 256 || ")
    assert main(["kernels", "run", str(wrong)]) == 0
    run = str(out / "batches_paged.rec")
    assert main(["replay", run, "--kernel", "write_kv=simple"]) == 0
    assert main(["replay", run, "--kernel", f"write_kv={wrong}"]) == 1
    printed = capsys.readouterr().out
    assert "write_kv=simple: right in all 8 calls, by the reference" in printed
    assert "write_kv=wrong.cu: wrong in " in printed
    assert "WRONG  step 0: sequences 1, tokens 374 (longest 374)" in printed


def test_a_run_that_broke_off_is_replayed_to_there(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run.write_bytes(run.read_bytes()[:-10])
    assert replay(run, "--kernel", "attention=host", "--every", "10") == 0
    captured = capsys.readouterr()
    assert "right in all" in captured.out
    assert "steps: the recording breaks off" in captured.err


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--against", "host"], "--against says what is done with a kernel: name it by --kernel"),
        (["--kernel", "attention=host", "--steps", "9999:"], "no chosen step calls attention"),
        (["--kernel", "swap_blocks=reference"], "no chosen step calls swap_blocks"),
        (["--kernel", "attention=host", "--bench"], "name it by --against"),
        (["--kernel", "attention=host", "--sanitize"], "only CUDA kernels can be sanitized"),
        (["--kernel", "attention=host", "--every", "0"], "--every must be at least 1, got 0"),
        (["--kernel", "attention=host", "--kv-group", "3"], "expected a KV group from 0 to 0"),
        (["--kernel", "attention=host", "--seed", str(2**63)], "seed: expected an integer"),
        (["--kernel", "attention=host", "--num-kv-heads", "99999999"], "from 1 to 4,096"),
        (["--kernel", "attention=host", "--json", "/dev/full"], "cannot write --json /dev/full"),
    ],
)
def test_what_makes_no_sense_is_refused(
    run: Path, arguments: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert replay(run, *arguments) == 2
    err = capsys.readouterr().err
    assert error in err
    assert err.count("\n") == 1


def test_another_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replay(tmp_path / "none") == 2
    assert "cannot read" in capsys.readouterr().err


def test_spans() -> None:
    assert (span("2:9"), span(":9"), span("2:")) == (slice(2, 9), slice(None, 9), slice(2, None))
    for text in ("3", "a:3", "1:2:3", "-1:2"):
        with pytest.raises(ArgumentTypeError, match="expected steps as 100:200"):
            span(text)
