"""`--kernel` names kernels by variant or by file, and is refused in one line."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest

from paged.cli.kernel_option import add_kernel_option, chosen_kernels
from paged.cli.main import main
from paged.cli.parser import OneLineParser
from paged.errors import ConfigError

FILE = "// paged: op copy_blocks\n// paged: launch f grid(1) block(1)\n"


def parsed(*arguments: str) -> Namespace:
    parser = OneLineParser(prog="paged probe")
    add_kernel_option(parser)
    return parser.parse_args(arguments)


def test_kernels_are_named_by_variant_or_by_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.cu").write_text(FILE)
    arguments = parsed(
        *("--kernel", "attention=v1g", "--kernel=copy_blocks=mine.cu"),
        *("--kernel", "write_kv=reference"),
    )
    expected = {
        "attention": "v1g",
        "copy_blocks": str(tmp_path / "mine.cu"),
        "write_kv": "reference",
    }
    assert chosen_kernels(arguments) == expected


def test_a_file_says_itself_what_it_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.cu").write_text(FILE)
    chosen = chosen_kernels(parsed("--kernel", "mine.cu"))
    assert chosen == {"copy_blocks": str(tmp_path / "mine.cu")}


def test_without_the_option_nothing_is_chosen() -> None:
    assert chosen_kernels(parsed()) == {}


def test_one_operation_has_one_kernel() -> None:
    twice = parsed("--kernel", "attention=v0", "--kernel", "attention=v0")
    assert chosen_kernels(twice) == {"attention": "v0"}
    with pytest.raises(ConfigError, match="names two kernels of attention: v0 and v1"):
        chosen_kernels(parsed("--kernel", "attention=v0", "--kernel", "attention=v1"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("attention", "expected OP=VARIANT or OP=FILE.cu, got 'attention'"),
        ("atention=v0", "got 'atention'; did you mean 'attention'?"),
        ("attention=v9", "or a path to a .cu file; got 'v9'"),
        ("attention=gone.cu", "cannot read kernel source"),
        ("gone.cu", "cannot read kernel source"),
        ("write_kv={file}", "expected a kernel of op 'write_kv', got op 'copy_blocks'"),
    ],
)
def test_what_cannot_serve_is_one_line(
    text: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.cu").write_text(FILE)
    with pytest.raises(SystemExit) as exited:
        parsed("--kernel", text.format(file=tmp_path / "mine.cu"))
    assert exited.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("paged probe: error: argument --kernel: ")
    assert reason in error
    assert error.count("\n") == 1


def test_the_list_marks_what_was_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.cu"
    file.write_text(FILE + "// paged: summary my own\n")
    arguments = ["kernels", "list", "--kernel", "attention=v1g"]
    assert main([*arguments, "--kernel", f"copy_blocks={file}"]) == 0
    lines = capsys.readouterr().out.splitlines()
    marked = [line for line in lines if line.startswith("* ")]
    assert marked[0].startswith("* attention=v1g ")
    assert marked[1].split() == ["*", f"copy_blocks={file}", "my", "own"]
    assert len(marked) == 2
    assert sum(line.startswith("  copy_blocks=") for line in lines) == 4
    assert main(["kernels", "list", "--kernel", "attention=v0", "--kernel", "attention=v1"]) == 2
    assert "paged kernels: error: --kernel names two" in capsys.readouterr().err
