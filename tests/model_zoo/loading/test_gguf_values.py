"""Every storage type that the `gguf` package dequantises gives exactly its values."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import gguf
import numpy as np
import pytest
from gguf.constants import GGML_QUANT_SIZES
from gguf.quants import dequantize

from model_zoo.loading import gguf_values
from model_zoo.loading.gguf_file import GgufFile, GgufTensor
from model_zoo.loading.gguf_metadata import GgufMetadata
from model_zoo.loading.gguf_values import read_rows, read_values
from paged.errors import ModelFileError

Kind = gguf.GGMLQuantizationType
INTEGERS = {Kind.I8, Kind.I16, Kind.I32, Kind.I64}
UNREADABLE = INTEGERS | {Kind.Q8_1, Kind.Q8_K, Kind.Q1_0}
READABLE = [kind for kind in Kind if kind not in UNREADABLE | {Kind.F64}]
SHAPE = (5, 512)


def stored(path: Path, kind: Kind, seed: int = 0) -> tuple[GgufFile, GgufTensor, np.ndarray]:
    """Write a tensor of random bytes; return where it lies, and the bytes."""
    values_per_block, block_bytes = GGML_QUANT_SIZES[kind]
    row_bytes = SHAPE[1] // values_per_block * block_bytes
    content = np.random.default_rng(seed).integers(0, 256, (SHAPE[0], row_bytes), np.uint8)
    path.write_bytes(b"before" + content.tobytes() + b"behind")
    tensor = GgufTensor(
        name="t", shape=SHAPE, type_id=int(kind), offset_bytes=6, num_bytes=content.size
    )
    file = GgufFile(path=path, metadata=GgufMetadata(path, {}), tensors={"t": tensor})
    return file, tensor, content


@pytest.mark.parametrize("kind", READABLE, ids=lambda kind: kind.name)
@pytest.mark.parametrize("chunk_values", [1, 1024, 1 << 18])
def test_values_are_bit_for_bit_those_of_the_gguf_package(
    kind: Kind, chunk_values: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gguf_values, "_CHUNK_VALUES", chunk_values)
    file, tensor, content = stored(tmp_path / "t", kind)
    # random bytes make scales that are not finite, too
    with np.errstate(all="ignore"):
        expected = dequantize(content, kind)
        got = read_values(file, tensor)
    assert got.dtype == np.float32
    assert got.shape == SHAPE
    assert np.array_equal(got.view(np.uint32), expected.reshape(SHAPE).view(np.uint32))


def test_doubles_are_rounded(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(struct.pack("<2d", 1 / 3, -2.5))
    tensor = GgufTensor(name="t", shape=(2,), type_id=Kind.F64, offset_bytes=0, num_bytes=16)
    file = GgufFile(path=tmp_path / "t", metadata=GgufMetadata(tmp_path, {}), tensors={"t": tensor})
    assert read_values(file, tensor).tolist() == [np.float32(1 / 3), -2.5]


@pytest.mark.parametrize("kind", sorted(UNREADABLE), ids=lambda kind: kind.name)
def test_a_type_that_is_no_weight_is_one_error(kind: Kind, tmp_path: Path) -> None:
    file, tensor, _ = stored(tmp_path / "t", kind)
    with pytest.raises(ModelFileError, match=f"'t' is stored as {kind.name}"):
        read_values(file, tensor)


def test_a_file_that_shrinks_is_one_error(tmp_path: Path) -> None:
    file, tensor, content = stored(tmp_path / "t", Kind.Q8_0)
    (tmp_path / "t").write_bytes(content.tobytes()[:100])
    with pytest.raises(ModelFileError, match="cut short while it was read"):
        read_values(file, tensor)


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0,)])
def test_a_tensor_without_values_is_empty(shape: tuple[int, ...], tmp_path: Path) -> None:
    file, tensor, _ = stored(tmp_path / "t", Kind.F32)
    empty = replace(tensor, shape=shape, num_bytes=0)
    assert list(read_rows(file, empty)) == []
    assert read_values(file, empty).shape == shape


@pytest.mark.parametrize("shape", [(), (7,), (2, 3, 4)])
def test_tensors_of_any_dimensions_are_read(shape: tuple[int, ...], tmp_path: Path) -> None:
    values = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    (tmp_path / "t").write_bytes(values.tobytes())
    tensor = GgufTensor(
        name="t", shape=shape, type_id=Kind.F32, offset_bytes=0, num_bytes=values.nbytes
    )
    file = GgufFile(path=tmp_path / "t", metadata=GgufMetadata(tmp_path, {}), tensors={"t": tensor})
    assert np.array_equal(read_values(file, tensor), values)
