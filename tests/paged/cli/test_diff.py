"""`paged diff`: exit status and text for equal and for different configurations."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from paged.cli.main import main
from tests.helpers.planted import wrong_kernel

FLAGS = ("--model", "tiny", "--max-tokens", "4", "--ignore-eos")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str], str]:
    """Return exit status, lines on standard output, and standard error."""
    status = main(["diff", *arguments, *FLAGS])
    printed = capsys.readouterr()
    return status, printed.out.splitlines(), printed.err


def test_equal_configurations_end_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    status, (a, b, last), err = run(capsys, "default", "allocator=virtual,max_num_batched_tokens=9")
    assert (status, a, b) == (0, "A: default", "B: allocator=virtual,max_num_batched_tokens=9")
    assert re.fullmatch(r"no difference: 4 requests, [\d,]{7,} values compared", last)
    assert err == "loading tiny\n"


def test_a_planted_fault_ends_with_1_and_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fault = "static_cast<Q_T>((p.layer == 1 && seen.position == 6 && head == 2) + values[i] * ("
    path = wrong_kernel(tmp_path, "attention/v0.cu", "static_cast<Q_T>(values[i] * (", fault)
    prompts = ("--prompt", "abcdef", "--prompt", "xyz")
    status, lines, _ = run(capsys, "attention=v0", f"attention={path}", *prompts)
    assert (status, lines[:3]) == (
        1,
        [
            "A: attention=v0",
            f"B: attention={path}",
            "first difference: request 0, position 6, layer 1 attention: out",
        ],
    )
    assert lines[3:5] == [f"  {name}: step 0, block 0, slot 6 of it" for name in "AB"]
    # heads of 16; head 2 begins at 32
    assert lines[5].startswith("  element 32: ")
    assert lines[6].startswith("  16 of 64 elements differ, by at most 1, relative ")
    assert re.fullmatch(r"  [\d,]{5,} values before it are equal", lines[7])
    assert len(lines) == 8  # it is no rounding


def test_a_tolerance_takes_rounding_for_equal(capsys: pytest.CaptureFixture[str]) -> None:
    pair = ("default", "attention=reference")
    status, lines, _ = run(capsys, *pair)
    assert (status, lines[-1].split(": ")[1]) == (1, "--rtol 1e-2 --atol 1e-3")
    assert run(capsys, *pair, "--atol", "1e-2", "--rtol", "1e-2")[0] == 0


def test_drawing_can_be_random(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ("--temperature", "1.5", "--seed", "3")
    assert run(capsys, "default", "num_threads=1", *flags)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("default", "nothing=1"), "unknown option 'nothing'"),
        (("cuda_graph_sizes=1", "default"), "unknown option 'cuda_graph_sizes'"),
        (("default", "cuda_graph_sizes=none"), "unknown option 'cuda_graph_sizes'"),
        (
            ("default", "default", "--rtol", "-1"),
            "rtol: expected a finite number at least 0, got -1",
        ),
        (("default", "default", "--prompt", "x" * 2000), "leaves no room for output"),
        (("default", "attention=no.cu"), "no.cu"),
    ],
)
def test_errors_take_one_line_and_end_with_2(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, [])
    last = err.splitlines()[-1]
    assert last.startswith("paged diff: error: ")
    assert message in last
