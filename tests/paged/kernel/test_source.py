"""Sources: headers found through quoted includes, files, and hashes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paged.errors import KernelSourceError
from paged.kernel.source import KernelSource, read_source


def source(folder: Path) -> KernelSource:
    return KernelSource(
        name="k",
        text='#include "a.cuh"\n# include "absent.h"\n#include <cuda_fp16.h>\n',
        path=folder / "k.cu",
        entries=("k",),
        include_dirs=(folder / "include",),
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "include" / "deep").mkdir(parents=True)
    (tmp_path / "a.cuh").write_text('#include "deep/b.cuh"\n#include "a.cuh"\n')
    (tmp_path / "include" / "a.cuh").write_text("// hidden by the file's own folder\n")
    (tmp_path / "include" / "deep" / "b.cuh").write_text('  #  include "c.cuh"\n')
    (tmp_path / "include" / "c.cuh").write_text("// end\n")
    return tmp_path


def test_headers_are_followed_own_folder_first(folder: Path) -> None:
    found = source(folder)
    assert set(found.headers) == {"a.cuh", "deep/b.cuh", "c.cuh"}
    assert "deep/b.cuh" in found.headers["a.cuh"]
    assert found.files[0] == folder / "k.cu"
    assert folder / "a.cuh" in found.files
    assert folder / "include" / "a.cuh" not in found.files


def test_hash_follows_what_is_compiled(folder: Path) -> None:
    first = source(folder)
    same = source(folder).content_hash
    assert first.content_hash == same
    assert replace(first, name="other").content_hash == same
    for change in (
        {"text": first.text + " "},
        {"prelude": "int x;"},
        {"defines": (("A", "1"),)},
        {"entries": ("k", "l")},
    ):
        assert replace(first, **change).content_hash != same
    (folder / "include" / "c.cuh").write_text("// changed\n")
    assert source(folder).content_hash != same


def test_parts_do_not_run_into_each_other(folder: Path) -> None:
    first = source(folder)
    assert (
        replace(first, text="ab", prelude="c").content_hash
        != replace(first, text="a", prelude="bc").content_hash
    )


def test_inline_text_is_labelled_by_its_name(folder: Path) -> None:
    inline = replace(source(folder), path=None, text="")
    assert inline.label == "<k>"
    assert inline.files == ()


def test_unreadable_files(tmp_path: Path) -> None:
    (tmp_path / "binary.cu").write_bytes(b"\xff\xfe\x00")
    for name in ("gone.cu", "binary.cu", "."):
        with pytest.raises(KernelSourceError, match="cannot read kernel source"):
            read_source(tmp_path / name)


def test_a_source_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paged.kernel.source.MAX_SOURCE_BYTES", 2**20)
    (tmp_path / "zeros.cu").symlink_to("/dev/zero")
    with pytest.raises(KernelSourceError, match=r"zeros.cu: expected at most 1 MiB"):
        read_source(tmp_path / "zeros.cu")


def test_a_header_beside_the_one_that_includes_it_counts(folder: Path) -> None:
    (folder / "a.cuh").write_text('#include "near/d.cuh"\n#include "e.cuh"\n')
    (folder / "e.cuh").write_text("// another of this name\n")
    (folder / "near").mkdir()
    (folder / "near" / "d.cuh").write_text('#include "e.cuh"\n#include "../near/d.cuh"\n')
    (folder / "near" / "e.cuh").write_text("// one\n")
    before = source(folder)
    assert {folder / "e.cuh", folder / "near" / "e.cuh"} < set(before.files)
    (folder / "near" / "e.cuh").write_text("// two\n")
    assert source(folder).content_hash != before.content_hash


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_bytes(b"\xef\xbb\xbf// paged: op attention\n")
    assert read_source(tmp_path / "k.cu") == "// paged: op attention\n"


MACROS = """
#define HEADER INDIRECT
#define INDIRECT "a.cuh"
#ifdef OTHER
#undef INDIRECT
#define INDIRECT "deep/b.cuh"  // another
#endif
#include HEADER
#include TOLD
#include INNER
#include UNKNOWN
#define ANGLED <cuda_fp16.h>
#include ANGLED
"""


def test_headers_named_by_macros_are_followed_to_all_that_they_may_be(folder: Path) -> None:
    (folder / "a.cuh").write_text('#define INNER "inner.cuh"\n')
    (folder / "inner.cuh").write_text("// inner\n")
    (folder / "told.cuh").write_text("// told\n")
    found = replace(source(folder), text=MACROS, defines=(("TOLD", '"told.cuh"'),))
    assert set(found.headers) == {"a.cuh", "deep/b.cuh", "c.cuh", "told.cuh", "inner.cuh"}
    before = found.content_hash
    (folder / "told.cuh").write_text("// changed\n")
    assert replace(found).content_hash != before


def test_a_header_named_by_a_macro_with_parameters_is_an_error(folder: Path) -> None:
    text = "#define QUOTED(name) #name\n# include QUOTED(a.cuh)\n"
    with pytest.raises(
        KernelSourceError, match=r"k\.cu: cannot tell .* `# include QUOTED\(.*unseen"
    ):
        _ = replace(source(folder), text=text).headers
