"""`paged kernels profile`: what it prints, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from paged.cli.main import main
from paged.kernel.registry import find_op
from paged.kernel.variant import shipped_variants


def test_a_file_is_profiled_beside_a_gpu_s_roofline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.cu"
    file.write_text(shipped_variants(find_op("copy_blocks"))["vector"].read_text())
    arguments = [str(file), "--workload", "tiny", "--gpu", "l4", "--lines", "3"]
    assert main(["kernels", "profile", *arguments]) == 0
    out = capsys.readouterr().out
    assert out.startswith("copy_blocks=mine on tiny:\n  moves ")
    assert "; l4: " in out
    rows = [line.split() for line in out.splitlines()]
    (kv_pool,) = (row for row in rows if row and row[0] == "kv_pool")
    assert kv_pool[-1] == "1"
    assert [row[0] for row in rows if row][-1] == "requests:"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--gpu", "gtx"], "gtx"),
        (["--lines", "-1"], "--lines must be at least 0, got -1"),
        (["--workload", "huge"], "got 'huge'"),
    ],
)
def test_what_makes_no_sense_is_refused(
    arguments: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["kernels", "profile", "copy_blocks=vector", *arguments]) == 2
    assert error in capsys.readouterr().err
