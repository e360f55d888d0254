"""`paged kernels run` finds what is wrong with a kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

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
