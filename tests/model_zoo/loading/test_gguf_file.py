"""GGUF headers: what the `gguf` package writes is read, and every damage is one clear error."""

from __future__ import annotations

import struct
from pathlib import Path

import gguf
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model_zoo.loading.gguf_file import MAGIC, read_gguf
from paged.errors import ModelFileError
from tests.helpers.gguf_files import Kind, small_llama, write_gguf, write_model

KEYS = {
    "a.flag": True,
    "a.count": 7,
    "a.share": 0.5,
    "a.text": "süß",
    "a.texts": ["x", "", "yz"],
    "a.numbers": [1, 2, 3],
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the bytes of a small model's file."""
    folder = tmp_path_factory.mktemp("gguf")
    return write_model(folder / "model.gguf", small_llama(), "llama").read_bytes()


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a path for files that are read once."""
    return tmp_path_factory.mktemp("scratch") / "model.gguf"


def test_keys_and_tensors_are_those_that_were_written(tmp_path: Path) -> None:
    tensors = {
        "a.weight": np.arange(6, dtype=np.float32).reshape(2, 3),
        "b.weight": np.ones((3, 64), np.float32),
    }
    path = write_gguf(tmp_path / "a.gguf", KEYS, tensors, kinds={"b.weight": Kind.Q8_0})
    file = read_gguf(path)
    assert {name: file.metadata.values[name] for name in KEYS} == KEYS
    assert file.tensors["a.weight"].shape == (2, 3)
    assert file.tensors["b.weight"].shape == (3, 64)
    assert file.tensors["b.weight"].num_bytes == 3 * 2 * 34


def test_places_are_those_of_the_reader_of_the_gguf_package(whole: bytes, scratch: Path) -> None:
    scratch.write_bytes(whole)
    theirs = {tensor.name: tensor for tensor in gguf.GGUFReader(scratch).tensors}
    ours = read_gguf(scratch).tensors
    assert set(ours) == set(theirs)
    for name, tensor in ours.items():
        assert tensor.offset_bytes == theirs[name].data_offset
        assert tensor.num_bytes == theirs[name].n_bytes
        assert tensor.type_id == theirs[name].tensor_type
        assert tensor.shape == tuple(reversed(theirs[name].shape.tolist()))


@given(st.integers(0, 60_000))
def test_a_file_cut_short_anywhere_is_one_error(whole: bytes, scratch: Path, size: int) -> None:
    scratch.write_bytes(whole[: size % len(whole)])
    with pytest.raises(ModelFileError, match=r"model\.gguf"):
        read_gguf(scratch)


@given(st.integers(0, 4000), st.integers(0, 7), st.binary(min_size=1, max_size=9))
def test_a_damaged_header_is_read_or_refused_but_nothing_else(
    whole: bytes, scratch: Path, position: int, bit: int, junk: bytes
) -> None:
    for damaged in (
        whole[:position] + bytes([whole[position] ^ (1 << bit)]) + whole[position + 1 :],
        whole[:position] + junk + whole[position + len(junk) :],
    ):
        scratch.write_bytes(damaged)
        try:
            file = read_gguf(scratch)
        except ModelFileError:
            continue
        size = len(damaged)
        assert all(t.offset_bytes + t.num_bytes <= size for t in file.tensors.values())


def header(num_tensors: int, num_keys: int, *, version: int = 3, rest: bytes = b"") -> bytes:
    """Return the start of a file."""
    return MAGIC + struct.pack("<IQQ", version, num_tensors, num_keys) + rest


def text(value: str) -> bytes:
    """Return a string as a file holds it."""
    encoded = value.encode()
    return struct.pack("<Q", len(encoded)) + encoded


def entry(name: str, shape: tuple[int, ...], *, kind: int = 0, offset: int = 0) -> bytes:
    """Return an entry of the table of tensors."""
    sizes = struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
    return text(name) + sizes + struct.pack("<IQ", kind, offset)


def padded(table: bytes, num_bytes: int) -> bytes:
    """Return a header with so many bytes of data behind it."""
    return table + bytes(-len(table) % 32) + bytes(num_bytes)


BROKEN = {
    "nothing": (b"", "cannot|first bytes"),
    "no GGUF": (b"PK\x03\x04" + bytes(100), "first bytes are b'GGUF'"),
    "a pickle": (b"\x80\x04\x95" + bytes(100), "first bytes are b'GGUF'"),
    "old version": (header(0, 0, version=1), "version 2 or 3"),
    "big-endian": (header(0, 0, version=3 << 24), "little-endian"),
    "2^60 tensors": (header(2**60, 0), "tensors are announced"),
    "2^60 keys": (header(0, 2**60), "keys are announced"),
    "a key of 2^60": (header(0, 1, rest=struct.pack("<Q", 2**60) + bytes(90)), "characters"),
    "2^63 strings": (
        header(0, 1, rest=text("k") + struct.pack("<IIQ", 9, 8, 2**63) + bytes(90)),
        "strings are announced",
    ),
    "a string past the end": (
        header(0, 1, rest=text("k") + struct.pack("<IIQQ", 9, 8, 2, 2**64 - 1) + bytes(90)),
        "runs past the end",
    ),
    "numbers past the end": (
        header(0, 1, rest=text("k") + struct.pack("<IIQ", 9, 12, 2**61) + bytes(90)),
        "numbers are announced",
    ),
    "a list of lists": (
        header(0, 1, rest=text("k") + struct.pack("<IIQ", 9, 9, 1) + bytes(90)),
        "value type",
    ),
    "an unknown value type": (
        header(0, 1, rest=text("k") + struct.pack("<I", 13) + bytes(90)),
        "value type",
    ),
    "no UTF-8": (
        header(0, 1, rest=struct.pack("<Q", 2) + b"\xff\xff" + bytes(90)),
        "UTF-8",
    ),
    "the same key twice": (
        header(0, 2, rest=2 * (text("same") + struct.pack("<IB", 7, 1)) + bytes(20)),
        "'same' is there twice",
    ),
    "the same tensor twice": (
        padded(header(2, 0, rest=entry("t", (2,)) + entry("t", (2,), offset=32)), 64),
        "'t' is there twice",
    ),
    "overlapping tensors": (
        padded(header(2, 0, rest=entry("t", (16,)) + entry("u", (16,), offset=32)), 128),
        "'t' and 'u' overlap",
    ),
    "five dimensions": (
        padded(header(1, 0, rest=entry("t", (1,) * 5)), 64),
        "at most 4 dimensions",
    ),
    "an absurd size": (
        padded(header(1, 0, rest=entry("t", (2**40, 2**40))), 64),
        "ends at byte",
    ),
    "an absurd offset": (
        padded(header(1, 0, rest=entry("t", (2,), offset=2**62)), 64),
        "ends at byte",
    ),
    "an unknown storage type": (
        padded(header(1, 0, rest=entry("t", (32,), kind=999)), 64),
        "storage type 999",
    ),
    "half a block": (
        padded(header(1, 0, rest=entry("t", (33,), kind=Kind.Q8_0)), 64),
        "a multiple of 32 values, got 33",
    ),
    "an odd alignment": (
        header(0, 1, rest=text("general.alignment") + struct.pack("<II", 4, 24) + bytes(20)),
        "power of two",
    ),
    "an alignment of text": (
        header(0, 1, rest=text("general.alignment") + struct.pack("<I", 8) + text("8") + bytes(9)),
        "must be a whole number",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_malformed_file_is_one_clear_error(case: str, tmp_path: Path) -> None:
    content, message = BROKEN[case]
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=message) as raised:
        read_gguf(path)
    assert "\n" not in str(raised.value)


def test_the_cases_break_what_else_would_be_read(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(padded(header(1, 0, rest=entry("t", (32,), kind=Kind.Q8_0)), 64))
    assert read_gguf(path).tensors["t"].num_bytes == 34


def test_an_unreadable_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="cannot read the file"):
        read_gguf(tmp_path / "absent.gguf")


def test_an_alignment_of_the_file_moves_the_data(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    aligned = header(1, 1, rest=text("general.alignment") + struct.pack("<II", 4, 128))
    table = aligned + entry("t", (2,))
    path.write_bytes(table + bytes(-len(table) % 128) + bytes(8))
    assert read_gguf(path).tensors["t"].offset_bytes % 128 == 0
