"""`paged kernels` as its user meets it: what is printed, written and refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from paged.cli.main import main
from paged.kernel.registry import OP_NAMES


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out.splitlines()


def test_list_names_every_operation(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernels", "list"]) == 0
    listed = lines(capsys)
    assert {line.partition("=")[0] for line in listed} == set(OP_NAMES)
    assert all(len(line.split()) > 2 for line in listed)


def test_list_of_one_operation(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernels", "list", "copy_blocks"]) == 0
    assert [line.split()[0] for line in lines(capsys)] == [
        "copy_blocks=simple",
        "copy_blocks=vector",
    ]


@pytest.mark.parametrize("target", ["attention", "attention=v0"])
def test_show_prints_operands_and_struct(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernels", "show", target]) == 0
    shown = "\n".join(lines(capsys))
    assert "| `kv_pool` |" in shown
    assert "struct AttentionParams {" in shown
    assert ("| `attention_v0` |" in shown) == (target == "attention=v0")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["show", "attention=v77"], "expected a variant of attention: "),
        (["show", "attentoin"], "expected OP, OP=VARIANT or FILE.cu, with OP one of attention"),
        (["show", "gone.cu"], "cannot read kernel source gone.cu"),
        (["run", "copy_blocks="], "expected OP=VARIANT or OP=FILE.cu"),
        (["new", "no/such/folder/mine"], "cannot write no/such/folder/mine.cu"),
        (["new", "mine", "--op", "softmax"], "expected an op of attention, "),
        (["new", "mine", "--from", "v77"], "got 'v77'"),
    ],
)
def test_what_names_nothing_is_one_line(
    arguments: list[str],
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["kernels", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("paged kernels: error: ")
    assert reason in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_new_writes_a_kernel_that_passes_its_problems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["kernels", "new", "mine"]) == 0
    assert "paged kernels run mine.cu" in lines(capsys)[0]
    text = Path("mine.cu").read_text()
    assert "// paged: summary    mine, from v0" in text
    assert main(["kernels", "run", "mine.cu", "--problem", "decode", "--orders", "natural,5"]) == 0
    assert [line.split()[0] for line in lines(capsys)[1:]] == ["ok"] * 3
    assert main(["kernels", "new", "mine"]) == 2
    assert "cannot write mine.cu: File exists" in capsys.readouterr().err
    assert Path("mine.cu").read_text() == text


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


def test_compile_reports_registers_and_faults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    main(["kernels", "new", "mine", "--op", "copy_blocks"])
    capsys.readouterr()
    assert main(["kernels", "compile", "mine.cu", "--arch", "sm_90"]) == 0
    printed = lines(capsys)
    assert printed[-1] == "4 builds, 0 with faults"
    assert all(" registers " in line for line in printed[:-1])
    text = Path("mine.cu").read_text().replace("registers  64", "registers  4")
    Path("mine.cu").write_text(text + "// paged: claim sm_90 HMMA\n")
    assert main(["kernels", "compile", "mine.cu", "--arch", "sm_90", "--quiet"]) == 1
    printed = lines(capsys)
    assert any("expected at most 4 registers" in line for line in printed)
    assert any("expected HMMA, got none" in line for line in printed)


def test_a_kernel_that_does_not_compile_is_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    main(["kernels", "new", "mine", "--op", "copy_blocks"])
    Path("mine.cu").write_text(Path("mine.cu").read_text() + "int x = undeclared;\n")
    capsys.readouterr()
    assert main(["kernels", "compile", "mine.cu", "--arch", "sm_90", "--quiet"]) == 1
    assert any('"undeclared" is undefined' in line for line in lines(capsys))
