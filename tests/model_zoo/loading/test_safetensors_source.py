"""Safetensors: whole and sharded folders are read, everything malformed is one error."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file

from model_zoo.loading.safetensors_source import SafetensorsSource
from paged.errors import ModelFileError

WHOLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
TENSORS = {
    "a.weight": torch.arange(6, dtype=torch.float32).view(2, 3),
    "b.weight": torch.ones(4, dtype=torch.bfloat16),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the bytes of a file with both tensors."""
    path = tmp_path_factory.mktemp("whole") / WHOLE
    save_file(TENSORS, path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for files that are read once."""
    return tmp_path_factory.mktemp("scratch")


def write_sharded(folder: Path, index: Mapping[str, Any] | None = None) -> Path:
    """Write a tensor into each of two shards, and an index."""
    for number, (name, tensor) in enumerate(TENSORS.items()):
        save_file({name: tensor}, folder / f"shard-{number}.safetensors")
    shards = {name: f"shard-{number}.safetensors" for number, name in enumerate(TENSORS)}
    (folder / INDEX).write_text(json.dumps({"weight_map": shards} if index is None else index))
    return folder


def check(source: SafetensorsSource) -> None:
    """Fail unless a source holds both tensors."""
    assert source.shapes == {"a.weight": (2, 3), "b.weight": (4,)}
    for name, tensor in TENSORS.items():
        for dtype in (torch.float32, torch.bfloat16):
            out = torch.full(tensor.shape, torch.nan, dtype=dtype)
            source.read_into(name, out)
            assert torch.equal(out, tensor.to(dtype))


def test_a_whole_folder_is_read(whole: bytes, tmp_path: Path) -> None:
    (tmp_path / WHOLE).write_bytes(whole)
    check(SafetensorsSource(tmp_path))


def test_a_sharded_folder_is_read(tmp_path: Path) -> None:
    check(SafetensorsSource(write_sharded(tmp_path)))


def test_links_into_a_store_are_followed(whole: bytes, tmp_path: Path) -> None:
    (tmp_path / "blob").write_bytes(whole)
    (tmp_path / "snapshot").mkdir()
    (tmp_path / "snapshot" / WHOLE).symlink_to(Path("..") / "blob")
    check(SafetensorsSource(tmp_path / "snapshot"))


@given(st.integers(0, 10_000))
def test_a_file_cut_short_anywhere_is_one_error(whole: bytes, scratch: Path, size: int) -> None:
    (scratch / WHOLE).write_bytes(whole[: size % len(whole)])
    with pytest.raises(ModelFileError, match="expected a safetensors file"):
        SafetensorsSource(scratch)


@given(st.integers(0, 200), st.integers(0, 7))
def test_a_damaged_header_is_read_or_refused_but_nothing_else(
    whole: bytes, scratch: Path, position: int, bit: int
) -> None:
    damaged = bytearray(whole)
    damaged[position % len(whole)] ^= 1 << bit
    (scratch / WHOLE).write_bytes(damaged)
    try:
        source = SafetensorsSource(scratch)
    except ModelFileError:
        return
    for name, shape in source.shapes.items():
        source.read_into(name, torch.empty(shape))


def with_header(header: str, num_bytes: int = 24) -> bytes:
    """Return a file of any header."""
    return struct.pack("<Q", len(header)) + header.encode() + bytes(num_bytes)


ENTRY = '{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}'
BROKEN = {
    "a header of 2^60": struct.pack("<Q", 2**60) + b"{}",
    "no JSON": with_header("{"),
    "no object": with_header("[]"),
    "a shape that disagrees": with_header(f'{{"a":{ENTRY.replace("[2,3]", "[2,4]")}}}'),
    "an absurd shape": with_header(f'{{"a":{ENTRY.replace("[2,3]", f"[{2**62},{2**62}]")}}}'),
    "data past the end": with_header(f'{{"a":{ENTRY}}}', num_bytes=20),
    "bytes that nobody owns": with_header(f'{{"a":{ENTRY}}}', num_bytes=28),
    "offsets in reverse": with_header(f'{{"a":{ENTRY.replace("[0,24]", "[24,0]")}}}'),
    "the same tensor twice": with_header(
        f'{{"a":{ENTRY},"a":{ENTRY.replace("[0,24]", "[24,48]")}}}', num_bytes=48
    ),
    "an unknown dtype": with_header(f'{{"a":{ENTRY.replace("F32", "F7")}}}'),
    "a pickle": b"\x80\x04\x95" + bytes(100),
    "a zip of pickles": b"PK\x03\x04" + bytes(100),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_malformed_file_is_one_clear_error(case: str, tmp_path: Path) -> None:
    (tmp_path / WHOLE).write_bytes(BROKEN[case])
    with pytest.raises(ModelFileError, match="expected a safetensors file") as raised:
        SafetensorsSource(tmp_path)
    assert "\n" not in str(raised.value)


def test_the_cases_break_what_else_would_be_read(tmp_path: Path) -> None:
    (tmp_path / WHOLE).write_bytes(with_header(f'{{"a":{ENTRY}}}'))
    assert SafetensorsSource(tmp_path).shapes == {"a": (2, 3)}


@pytest.mark.parametrize("dtype", [torch.int8, torch.int64, torch.float8_e4m3fn, torch.bool])
def test_a_quantised_tensor_is_one_error(dtype: torch.dtype, tmp_path: Path) -> None:
    save_file({"a.weight": torch.ones(4).to(dtype)}, tmp_path / WHOLE)
    with pytest.raises(ModelFileError, match=r"'a\.weight': expected one of F64, .*quantised"):
        SafetensorsSource(tmp_path)


@pytest.mark.parametrize(
    "shard",
    [
        *("../shard-0.safetensors", "/etc/passwd", "a/b.safetensors", "..", ""),
        *("..\\shard-0.safetensors", "pytorch_model.bin", 3, None, ["shard-0.safetensors"]),
    ],
)
def test_an_index_names_files_of_its_folder_only(shard: object, tmp_path: Path) -> None:
    write_sharded(tmp_path, {"weight_map": {"a.weight": shard}})
    with pytest.raises(ModelFileError, match=r"to be a \.safetensors file of this folder"):
        SafetensorsSource(tmp_path)


@pytest.mark.parametrize("index", [{}, {"weight_map": {}}, {"weight_map": ["a"]}])
def test_an_index_without_shards_is_one_error(index: dict[str, Any], tmp_path: Path) -> None:
    write_sharded(tmp_path, index)
    with pytest.raises(ModelFileError, match="expected weight_map"):
        SafetensorsSource(tmp_path)


def test_a_missing_shard_is_one_error(tmp_path: Path) -> None:
    write_sharded(tmp_path)
    (tmp_path / "shard-1.safetensors").unlink()
    with pytest.raises(ModelFileError, match=r"shard-1\.safetensors: .*missing"):
        SafetensorsSource(tmp_path)


def test_a_tensor_in_two_shards_is_one_error(tmp_path: Path) -> None:
    write_sharded(tmp_path)
    save_file(TENSORS, tmp_path / "shard-1.safetensors")
    with pytest.raises(ModelFileError, match=r"'a\.weight' is in another shard too"):
        SafetensorsSource(tmp_path)


def test_a_tensor_in_no_shard_is_one_error(tmp_path: Path) -> None:
    shards = {**dict.fromkeys(TENSORS, "shard-0.safetensors"), "c": "shard-1.safetensors"}
    write_sharded(tmp_path, {"weight_map": shards})
    with pytest.raises(ModelFileError, match="lists 1 tensors that no shard holds, such as 'c'"):
        SafetensorsSource(tmp_path)


def test_pickles_are_not_opened(tmp_path: Path) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    with pytest.raises(ModelFileError, match=r"pytorch_model\.bin is a pickle, which is never"):
        SafetensorsSource(tmp_path)
