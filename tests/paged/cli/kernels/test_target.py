"""What names nothing is refused in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from paged.cli.main import main


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["show", "attention=v77"], "expected a variant of attention: "),
        (["show", "attentoin"], "expected OP, OP=VARIANT or FILE.cu, with OP one of attention"),
        (["run", "attentoin"], "got 'attentoin'; did you mean 'attention'?"),
        (["run", "attentoin=v0"], "got 'attentoin'; did you mean 'attention'?"),
        (["run", "copy_blocks=vectro"], "got 'vectro'; did you mean 'vector'?"),
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


def test_a_file_without_its_ending_is_recognised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.cu").touch()
    assert main(["kernels", "run", "mine"]) == 2
    assert "got 'mine'; did you mean 'mine.cu'?" in capsys.readouterr().err
