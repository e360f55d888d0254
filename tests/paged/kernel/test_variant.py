"""Kernel files as variants of an operation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from paged.errors import KernelSourceError
from paged.kernel.backends.interpret import InterpretConfig
from paged.kernel.op import Op
from paged.kernel.ops.problems import problems_of
from paged.kernel.problem import try_kernel
from paged.kernel.registry import find_op
from paged.kernel.source import read_source
from paged.kernel.spec import Operand
from paged.kernel.variant import find_variant, load_variant, shipped_variants

OP = Op(
    name="twice",
    folder="nowhere",
    summary="Double every element",
    operands=(
        Operand(name="x", shape="n", dtype="t"),
        Operand(name="y", shape="n", dtype="t", intent="out"),
    ),
    types={"t": ("float32", "float16")},
    reference=lambda x: 2 * x,
    choose=lambda _: "plain",
)
FILE = "// paged: op twice\n// paged: summary one\n// paged: launch twice grid(n) block(32)\n"


@pytest.fixture
def op(tmp_path: Path) -> Op:
    class Elsewhere(Op):
        @property
        def variants_dir(self) -> Path:
            return tmp_path

    fields = {name: getattr(OP, name) for name in OP.__dataclass_fields__}
    return Elsewhere(**fields)


def test_variants_are_the_files_of_the_folder(op: Op, tmp_path: Path) -> None:
    (tmp_path / "twice_plain.cu").write_text(FILE)
    (tmp_path / "wide.cu").write_text(FILE)
    (tmp_path / "other.cu").write_text(FILE.replace("op twice", "op thrice"))
    assert list(shipped_variants(op)) == ["plain", "wide"]
    variant = find_variant(op, "plain")
    assert variant.spec.summary == "one"
    assert variant.spec.source == tmp_path / "twice_plain.cu"
    with pytest.raises(
        KernelSourceError, match=r"twice: plain, wide, or a path.*'plane'; did you mean 'plain'"
    ):
        find_variant(op, "plane")


def test_a_file_without_its_ending_is_recognised(
    op: Op, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine.cu").write_text(FILE)
    monkeypatch.chdir(elsewhere)
    with pytest.raises(KernelSourceError, match=r"got 'mine'; did you mean 'mine\.cu'"):
        find_variant(op, "mine")


def test_a_file_narrows_types_and_adds_to_the_operation(op: Op, tmp_path: Path) -> None:
    file = tmp_path / "mine.cu"
    file.write_text(
        FILE + "// paged: types t = float16\n// paged: symbol m = n*2\n"
        "// paged: workspace w float32 m\n// paged: require n > 0\n// paged: constant m\n"
        "// paged: align x 16\n"
    )
    spec = find_variant(op, str(file)).spec
    assert spec.types == {"t": ("float16",)}
    assert spec.sizes == ("n", "m")
    assert [o.intent for o in spec.operands] == ["in", "out", "workspace"]
    assert [o.alignment_bytes for o in spec.operands] == [16, 1, 1]
    assert (spec.requires, spec.constants) == (("n > 0",), ("m",))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("// nothing\n", "no '// paged: op' line"),
        (FILE.replace("op twice", "op once"), "got op 'once'"),
        (FILE + "// paged: types t = float64\n", "twice takes no float64 for t"),
        (FILE + "// paged: types u = float32\n", "it takes no such type"),
        (FILE + "// paged: align xs 16\n", "no operand 'xs' to align; did you mean 'x'"),
        (FILE + "// paged: align x 3\n", "alignment_bytes of 'x' must be a power of two, got 3"),
        (FILE + "// paged: require m > 0\n", "'m > 0' names m"),
        ("// paged: op twice\n", "at least one launch"),
    ],
)
def test_files_that_cannot_serve(op: Op, tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "mine.cu"
    file.write_text(text)
    with pytest.raises(KernelSourceError, match=rf"^{re.escape(str(file))}.*{reason}"):
        load_variant(op, file)


def test_a_missing_file(op: Op, tmp_path: Path) -> None:
    with pytest.raises(KernelSourceError, match=r"cannot read kernel source .*gone\.cu"):
        find_variant(op, str(tmp_path / "gone.cu"))


def test_every_size_of_attention_may_be_compiled_in(tmp_path: Path) -> None:
    op = find_op("attention")
    file = tmp_path / "mine.cu"
    text = read_source(find_variant(op, "v0").path)
    sizes = " ".join(op.signature.sizes)
    assert "// paged: constant   head_dim\n" in text
    file.write_text(text.replace("constant   head_dim", f"constant {sizes}"))
    problem = next(p for p in problems_of(op) if p.name == "ragged prefill and decode")
    spec = find_variant(op, str(file)).spec
    verdict = try_kernel(spec, problem, device=torch.device("cpu"), interpret=InterpretConfig())
    assert spec.constants == op.signature.sizes
    assert verdict.fault is None
