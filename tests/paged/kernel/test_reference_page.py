"""The reference page is that of the sources, and leaves nothing out."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from paged.kernel.reference_page import CLASSES, header_functions, meanings, reference_page
from paged.kernel.spec import INCLUDE_DIR


def test_the_page_in_docs_is_current(repository: Path) -> None:
    written = (repository / "docs" / "kernel_reference.md").read_text()
    assert written == reference_page(), (
        "run: python -m paged.kernel.reference_page > docs/kernel_reference.md"
    )


@pytest.mark.parametrize("kind", CLASSES)
def test_every_field_has_a_meaning(kind: type) -> None:
    assert [*meanings(kind)] == [field.name for field in fields(kind)]
    assert all(meanings(kind).values())


def test_every_header_function_has_a_meaning() -> None:
    found = list(header_functions())
    assert [f"{f.header}: {f.name}" for f in found if not f.meaning] == []
    texts = {path.name: path.read_text() for path in INCLUDE_DIR.glob("*.cuh")}
    names = {(f.header, f.name) for f in found}
    for header, text in texts.items():
        free = re.findall(r"^__device__[^;{(]*?(\w+)\(", text, re.MULTILINE)
        assert {(header, name) for name in free} <= names
    assert len({f.header for f in found}) == len(texts)


def test_rows_say_type_default_and_meaning() -> None:
    lines = reference_page().splitlines()
    for line in (
        "| `absent` | `float \\| None` | `None` | what is passed where the caller says None; the "
        "number is then optional. |",
        "| `types` | `Mapping[str, tuple[str, ...]]` | `{}` | type variables and the dtypes each "
        "may stand for. |",
        "| `include_dirs` | `tuple[Path, ...]` | `(kernels_cu/include,)` | where the source's "
        "quoted includes are looked up. |",
        "| `passing` | `Literal['parameters', 'struct']` | `'parameters'` | `parameters` gives the "
        "kernel a typed parameter list, `struct` one by-value struct `<Name>Params`, generated "
        "into the source: the least cost per launch. |",
        "| `softmax.cuh` | `RowSums: float normalizer()` | What summed values are multiplied by to "
        "give the row's output. |",
        "| `chunk.cuh` | `template <class To, class From> To convert(From x)` | x in another type: "
        "one rounding to nearest even, saturating in fp8. Equal types keep all bits. |",
    ):
        assert line in lines
