"""Structs that Python and C++ lay out alike."""

from __future__ import annotations

import subprocess
from ctypes import sizeof
from pathlib import Path

import pytest

from paged.kernel.backends.layer_records import LAYER_RECORDS, LayerRecord


def test_values_go_by_place_and_the_rest_is_zero() -> None:
    made = LayerRecord(
        name="R", fields=(("const float*", "x"), ("int64_t", "n"), ("float", "eps"))
    ).make(None, 7)
    assert (made.x, made.n, made.eps) == (None, 7, 0.0)


def test_the_text_names_each_field_with_its_type() -> None:
    record = LayerRecord(name="R", fields=(("const void*", "from"), ("float", "eps")))
    assert record.text() == "struct R {\n    const void* from;\n    float eps;\n};\n"


@pytest.mark.parametrize("record", LAYER_RECORDS, ids=lambda record: record.name)
def test_both_sides_agree_on_every_offset(record: LayerRecord, tmp_path: Path) -> None:
    lines = [f"static_assert(sizeof({record.name}) == {sizeof(record.make)});"]
    for _, name in record.fields:
        offset = getattr(record.make, name).offset
        lines += [f"static_assert(offsetof({record.name}, {name}) == {offset});"]
    source = tmp_path / "record.cpp"
    source.write_text(
        "#include <cstddef>\n#include <cstdint>\n" + record.text() + "\n".join(lines) + "\n"
    )
    subprocess.run(["g++", "-std=c++17", "-fsyntax-only", str(source)], check=True)
