"""`paged kernels run` finds what is wrong with a kernel."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from paged.cli.main import main
from tests.helpers.printed import lines

WRONG = (
    ("key < seen.end", "key <= seen.end"),
    ("const float scale = p.scale", "const float scale = 1.01f * p.scale"),
    ("const int token = blockIdx.x", "__trap(); const int token = blockIdx.x"),
    ("const int token = blockIdx.x", "while (true) {} const int token = blockIdx.x"),
)


@pytest.mark.parametrize(("text", "wrong"), WRONG)
def test_run_finds_what_is_wrong(
    text: str,
    wrong: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    main(["kernels", "new", "mine"])
    source = Path("mine.cu").read_text()
    assert source.count(text) == 1
    Path("mine.cu").write_text(source.replace(text, wrong))
    capsys.readouterr()
    assert main(["kernels", "run", "mine.cu", "--problem", "around", "--timeout", "3"]) == 1
    printed = lines(capsys)
    assert printed[1].split()[0] == "FAIL"
    assert printed[-1] == "1 problems failed"


def test_a_problem_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernels", "run", "copy_blocks=simple", "--problem", "xyz"]) == 2
    error = capsys.readouterr().err
    assert "no problem is named like 'xyz'; there are: float16->float16 D64" in error


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernels", "run", "copy_blocks=simple", "--device", "cuda"]) == 2
    assert "torch finds no CUDA device; see: paged doctor" in capsys.readouterr().err
