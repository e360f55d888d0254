"""`paged kernels check` says what a sanitizer finds, with an exit status to go by."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from paged.cli.kernels import check
from paged.cli.main import main
from paged.kernel import mutant_trial
from paged.kernel.mutation import Mutant
from tests.helpers.printed import lines


def test_a_shipped_kernel_is_clean(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernels", "check", "copy_blocks=simple", "--problem", "tokens1"]) == 0
    printed = lines(capsys)
    assert printed[0].startswith("copy_blocks=simple")
    assert all(line.startswith("  clean ") for line in printed[1:-1])
    assert printed[-1].endswith("calls, 0 findings")


def test_a_fault_is_printed_and_is_exit_status_1(
    write_mine: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = "  const_cast<long long&>(p.pairs[0]) = 0;\n  const "
    write_mine(lambda text: text.replace("  const ", wrong, 1))
    assert main(["kernels", "check", "mine.cu", "--problem", "tokens1"]) == 1
    printed = lines(capsys)
    assert printed[1].startswith("  FOUND ")
    assert "write_to_input: copy_blocks_mine writes pairs[0, 0]" in printed[2]
    assert printed[3].startswith("      at mine.cu:")
    assert printed[4].endswith(" | const_cast<long long&>(p.pairs[0]) = 0;")
    assert printed[5].startswith("      -> write to an out or inout operand")
    # the same line is told once
    assert [line for line in printed if "write_to_input" in line] == [printed[2]]
    assert "    and 1 of those above" in printed[3:]


def test_other_orders_are_the_callers_choice(
    write_mine: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    first = "__device__ unsigned turn;\n__global__"
    last = (
        "  __syncthreads();\n"
        "  if (atomicAdd(&turn, 1u) == 0) to.start[0] = KV_T(float(threadIdx.x + 1));\n}\n"
    )
    write_mine(lambda text: text.replace("__global__", first).removesuffix("}\n") + last)
    check_mine = ["kernels", "check", "mine.cu", "--problem", "float32 D46 BS32 tokens1"]
    assert main([*check_mine, "--orders", "none"]) == 0
    assert main([*check_mine, "--orders", "3"]) == 1
    assert "order_dependent" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main([*check_mine, "--orders", "natural"])
    assert "expected none, or numbers with commas: 'natural'" in capsys.readouterr().err


def test_what_cannot_run_is_exit_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernels", "check", "copy_blocks=simple", "--problem", "no such"]) == 2
    assert main(["kernels", "check", "missing.cu"]) == 2
    assert "no such" in capsys.readouterr().err


def test_mutants_are_tried_on_nothing_but_shipped_kernels(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["kernels", "check", "--mutants", "0"]) == 2
    assert main(["kernels", "check", "mine.cu", "--mutants", "5"]) == 2
    assert main(["kernels", "check", "--orders", "none", "--mutants", "5"]) == 2
    assert "--mutants takes a number above 0" in capsys.readouterr().err


def test_the_fate_of_mutants_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def some(num_each: int) -> list[tuple[mutant_trial.Subject, Mutant]]:
        pairs = [pair for pair in mutant_trial.sample(1000) if pair[0].op == "gather_kv"]
        return [pair for pair in pairs if pair[1].what == "bound"][:num_each]

    monkeypatch.setattr(check, "sample", some)
    assert main(["kernels", "check", "--mutants", "1"]) == 0
    printed = lines(capsys)
    assert printed[0].split()[:2] == ["out_of_bounds", "vector"]
    assert printed[-1].split() == ["all", "1", "1", "0", "0", "100%"]
