"""`paged kernels bench`: a table on the screen, rows in a file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from paged.cli.kernels import bench
from paged.cli.kernels.target import find_targets
from paged.cli.main import main
from paged.kernel.measure.bandwidth import Hardware
from paged.kernel.registry import find_op
from tests.helpers.measured import HARDWARE

WRONG = """
// paged: op         copy_blocks
// paged: summary    copies nothing
// paged: launch     nothing grid(1) block(1)
extern "C" __global__ void nothing(const __grid_constant__ CopyBlocksParams p) {}
"""


@pytest.fixture(autouse=True)
def hardware(monkeypatch: pytest.MonkeyPatch) -> Hardware:
    """Take the limits as known: they take a second to measure."""
    monkeypatch.setattr(bench, "measure_hardware", lambda _: HARDWARE)
    return HARDWARE


def test_a_kernel_is_timed_beside_its_peer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "results" / "copy.json"
    arguments = ["copy_blocks=simple", "--rounds", "3", "--json", str(file)]
    assert main(["kernels", "bench", *arguments]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"{bench.NO_HARDWARE}\na CPU: copies 1 GB/s")
    assert "copy_blocks tiny: least 0.1311 MB" in shown
    document = json.loads(file.read_text())
    assert document["hardware"]["name"] == "a CPU"
    assert "torch" in document["versions"]
    ours, peer = document["results"]
    assert (ours["name"], peer["name"]) == ("simple", "index_copy")
    assert len(ours["rounds_s"]) == 3
    assert ours["peer_over_this"]["index_copy"] > 0
    assert ours["traffic"]["bytes_over_minimum"] == pytest.approx(1.0, abs=0.02)
    assert re.search(r"bytes over minimum +index_copy\n +simple .* 1\.02 ", shown)
    assert "\nbytes over minimum: 32-byte sectors that warps ask for" in shown
    assert not list(file.parent.glob("*.partial"))


def test_a_wrong_kernel_is_not_timed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "nothing.cu"
    file.write_text(WRONG)
    assert main(["kernels", "bench", str(file), "--rounds", "3"]) == 1
    shown = capsys.readouterr().out
    assert "nothing.cu: WRONG, not timed: result 0 [8, 2, 2, 2, 16, 64] differs in 4 of 8" in shown


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["copy_blocks", "--workload", "huge"], "got 'huge'"),
        (["copy_blocks", "--rounds", "2"], "--rounds must be at least 3, got 2"),
        (["copy_blocs"], "expected OP, OP=VARIANT or FILE.cu"),
    ],
)
def test_what_cannot_be_run_is_one_line(
    arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["kernels", "bench", *arguments]) == 2
    error = capsys.readouterr().err
    assert reason in error
    assert error.count("\n") == 1


def test_without_a_gpu_that_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "why_unavailable", lambda: "no driver")
    assert main(["kernels", "bench", "attention", "--device", "cuda"]) == 2
    assert "no CUDA device to time on: no driver" in capsys.readouterr().err


def test_each_kernel_has_a_name_of_its_own(tmp_path: Path) -> None:
    shipped = find_op("copy_blocks").variants_dir / "copy_blocks_simple.cu"
    files = [tmp_path / "simple.cu", tmp_path / "a" / "mine.cu", tmp_path / "b" / "mine.cu"]
    for file in files:
        file.parent.mkdir(exist_ok=True)
        file.write_text(WRONG)
    targets = ["copy_blocks", "copy_blocks=simple", *map(str, files)]
    assert {label: v.path for label, v in bench.labelled(find_targets(targets)).items()} == {
        "simple": shipped,
        "vector": shipped.with_name("copy_blocks_vector.cu"),
        "simple.cu": files[0],
        str(files[1]): files[1],
        str(files[2]): files[2],
    }
