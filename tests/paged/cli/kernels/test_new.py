"""`paged kernels new` writes a kernel that works, and that is the newcomer's own by name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from paged.cli.kernels.new import starter
from paged.cli.main import main
from paged.kernel.directives import parse_directives
from paged.kernel.entries import kernels_in
from paged.kernel.op import Op
from paged.kernel.registry import ops
from paged.kernel.source import KernelSource
from paged.kernel.variant import find_variant, shipped_variants
from tests.helpers.printed import lines

SHIPPED = [(op, name) for op in ops().values() for name in shipped_variants(op)]


def test_new_writes_a_kernel_that_passes_its_problems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["kernels", "new", "mine"]) == 0
    assert "paged kernels run mine.cu" in lines(capsys)[0]
    text = Path("mine.cu").read_text()
    assert text.startswith("// attention, mine: my own kernel, begun as a copy of v0.\n//\n// grid")
    assert "// paged: summary    my own, begun as a copy of v0\n" in text
    assert text.count("v0") == 2
    assert text.count("attention_mine") == 2
    assert main(["kernels", "run", "mine.cu", "--problem", "decode", "--orders", "natural,5"]) == 0
    assert [line.split()[0] for line in lines(capsys)[1:]] == ["ok"] * 3


def test_a_file_that_exists_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.cu").write_text("kept")
    assert main(["kernels", "new", "mine"]) == 2
    assert "mine.cu exists, and is kept; choose another name" in capsys.readouterr().err
    assert Path("mine.cu").read_text() == "kept"


@pytest.mark.parametrize(("op", "name"), SHIPPED, ids=lambda value: getattr(value, "name", value))
def test_every_shipped_kernel_can_be_begun_from(op: Op, name: str) -> None:
    origin = find_variant(op, name)
    text = starter(origin, Path("1st-try.cu"))
    launches = parse_directives(text, "1st-try.cu").launches
    own = f"{origin.op.name}_1st_try"
    assert [launch.entry for launch in launches] == [
        own + re.sub(rf"^({origin.op.name}_)?{name}", "", launch.entry)
        for launch in origin.directives.launches
    ]
    there = kernels_in(KernelSource(name="k", text=text, entries=()))
    assert set(there) == {launch.entry for launch in launches}
    title = f"// {origin.op.name}, 1st-try: my own kernel, begun as a copy of {name}."
    assert text.splitlines()[0] == title
    assert "oracle" not in text.partition("#include")[0]
