"""The picture shows every timed kernel once, under the limits it was measured with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench import roofline
from bench.roofline import chart_of, draw

HARDWARE = {
    "name": "a GPU",
    "copy_bytes_per_s": 1e12,
    "matmul_flops_per_s": 1e14,
}


def row(name: str, **changes: Any) -> dict[str, Any]:
    return {
        "op": "attention",
        "workload": "b8",
        "name": name,
        "is_peer": name == "sdpa",
        "device": "cuda",
        "median_s": 1e-3,
        "bytes": 10**8,
        "flops": 10**9,
        "share_of_roofline": 0.1,
        "traffic": {"bytes_over_minimum": 1.5},
        **changes,
    }


def document(*rows: dict[str, Any]) -> dict[str, Any]:
    return {"hardware": HARDWARE, "results": list(rows)}


def test_what_was_not_timed_is_left_out() -> None:
    wrong = row("v1")
    del wrong["median_s"]
    chart = chart_of(document(row("v0"), wrong, row("sdpa")))
    assert [(p.name, p.is_peer) for p in chart.points] == [("v0", False), ("sdpa", True)]
    assert (chart.title, chart.bytes_per_s, chart.flops_per_s) == ("a GPU", 1e12, 1e14)


def test_recorded_benchmarks_are_read_and_peers_drawn_once() -> None:
    def recorded(*rows: dict[str, Any]) -> dict[str, Any]:
        return {"notes": {"hardware": HARDWARE, "rows": list(rows)}}

    benchmarks = {
        "a": recorded(row("v0"), row("sdpa")),
        "b": recorded(row("v1"), row("sdpa")),
        "of the scheduler": {"notes": {}},
    }
    chart = chart_of({"benchmarks": benchmarks})
    assert [p.name for p in chart.points] == ["v0", "sdpa", "v1"]


def test_a_gpu_comes_before_a_cpu_unless_one_is_named() -> None:
    both = document(row("v0"), row("slow", device="cpu"))
    assert [p.name for p in chart_of(both).points] == ["v0"]
    assert [p.name for p in chart_of(both, "cpu").points] == ["slow"]


def test_a_file_without_times_is_refused() -> None:
    with pytest.raises(ValueError, match="expected timed kernels on cpu, found none"):
        chart_of(document())


def test_points_lie_where_they_belong() -> None:
    moving = row("vector", op="copy_blocks", workload="pairs", flops=0, share_of_roofline=0.5)
    del moving["traffic"]
    left, middle, right = draw(chart_of(document(row("v0"), moving))).axes
    roof, point = left.lines
    # kernels that compute nothing have no place under the roof
    assert point.get_xydata().tolist() == [[10.0, 1e12]]  # pyright: ignore[reportAttributeAccessIssue]
    assert max(roof.get_ydata()) == 1e14  # pyright: ignore[reportArgumentType]
    shares = [line.get_xydata().tolist() for line in middle.lines[:2]]  # pyright: ignore[reportAttributeAccessIssue]
    assert shares == [[[10.0, 1.0]], [[50.0, 0.0]]]
    # what was not counted has no place among the bytes; the last line is that of the minimum
    counted = [line.get_xydata().tolist() for line in right.lines[:-1]]  # pyright: ignore[reportAttributeAccessIssue]
    assert counted == [[[1.5, 1.0]]]
    labels = [label.get_text() for label in middle.get_yticklabels()]
    assert labels == ["copy_blocks pairs", "attention b8"]


def test_the_picture_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "kernels.json"
    file.write_text(json.dumps(document(row("v0"), row("sdpa"))))
    assert roofline.main([str(file)]) == 0
    assert (tmp_path / "kernels.png").read_bytes().startswith(b"\x89PNG")
    assert "kernels.png" in capsys.readouterr().out


@pytest.mark.parametrize("text", [json.dumps(document()), "no json"])
def test_what_cannot_be_drawn_is_one_line(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "kernels.json"
    file.write_text(text)
    assert roofline.main([str(file)]) == 2
    assert capsys.readouterr().err.startswith("roofline: ")
