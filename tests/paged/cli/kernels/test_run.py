"""`paged kernels run` finds what is wrong with a kernel."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from paged.cli.main import main
from paged.kernel.ops.problems import problems_of
from paged.kernel.registry import find_op
from tests.helpers.printed import lines

WRONG = (
    ("key < seen.end", "key <= seen.end"),
    ("const float scale = p.scale", "const float scale = 1.01f * p.scale"),
    ("const int token = blockIdx.x", "__trap(); const int token = blockIdx.x"),
    ("const int token = blockIdx.x", "while (true) {} const int token = blockIdx.x"),
)


@pytest.mark.parametrize(("text", "wrong"), WRONG)
def test_run_finds_what_is_wrong(
    text: str, wrong: str, write_mine: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    write_mine(lambda source: source.replace(text, wrong), op="attention")
    assert main(["kernels", "run", "mine.cu", "--problem", "around", "--timeout", "3"]) == 1
    printed = lines(capsys)
    assert printed[1].split()[0] == "FAIL"
    assert printed[-1] == "1 problem failed"


def test_a_crash_that_was_told_is_not_told_again(
    write_mine: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    write_mine(lambda text: text.replace("  const ", "  __trap();\n  const ", 1))
    assert main(["kernels", "run", "mine.cu", "--orders", "natural"]) == 1
    failed = [line for line in lines(capsys) if line.startswith("  FAIL")]
    assert len(failed) > 1
    assert "__trap()" in failed[0]
    assert any(line.endswith(": as above") for line in failed[1:])
    assert sum("__trap()" in line for line in failed) < len(failed)


def test_a_kernel_that_does_not_end_is_tried_once(
    write_mine: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    write_mine(lambda text: text.replace("  const ", "  while (true) {}\n  const ", 1))
    assert main(["kernels", "run", "mine.cu", "copy_blocks=simple", "--timeout", "1"]) == 1
    printed = lines(capsys)
    failed = [line for line in printed if line.startswith("  FAIL")]
    assert len(failed) == 1
    assert "(natural order): kernel copy_blocks_mine: did not end within 1 s" in failed[0]
    num_problems = len(list(problems_of(find_op("copy_blocks"))))
    left = f"  -     not tried, as each might take that long: {num_problems - 1} more"
    assert left in printed
    assert sum(line.startswith("  ok") for line in printed) == num_problems
    assert printed[-1] == "1 problem failed"


def test_a_problem_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernels", "run", "copy_blocks=simple", "--problem", "xyz"]) == 2
    error = capsys.readouterr().err
    assert "no problem is named like 'xyz'; there are: float16->float16 D64" in error
    assert main(["kernels", "run", "attention=v0", "--problem", "windows"]) == 2
    assert "did you mean 'window'?" in capsys.readouterr().err


@pytest.mark.parametrize("device", ["gpu", "cuda:x", "meta"])
def test_a_device_of_another_kind_is_one_line(
    device: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["kernels", "run", "copy_blocks=simple", "--device", device])
    error = capsys.readouterr().err
    assert f"expected cpu, cuda or cuda:N, got '{device}'" in error
    assert error.count("\n") == 1


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernels", "run", "copy_blocks=simple", "--device", "cuda"]) == 2
    assert "torch finds no device cuda; see: paged doctor" in capsys.readouterr().err
